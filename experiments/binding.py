"""Configurations checked against the constructors they name.

A node ``{_target_: package.Class, argument: value, ...}`` binds when every key is an argument of the class and every value
fits the argument's annotation. The checked copy has numbers in the annotated type (1 becomes 1.0 where a float is asked for)
and defaults filled in, so that two ways to ask for the same thing become equal.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from hydra.utils import get_object
from pydantic import TypeAdapter, ValidationError

from symlab.errors import ConfigError

_HYDRA_KEYS = {"_target_", "_partial_", "_convert_", "_recursive_", "_args_"}


def target_of(node: Mapping[str, Any], path: str) -> Callable[..., Any]:
    name = node["_target_"]
    try:
        return get_object(name)
    except (ImportError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path}._target_={name} cannot be imported: {' '.join(str(error).split())}") from error


def bind(node: Mapping[str, Any], path: str, supplied: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The checked copy of a ``_target_`` node; ``supplied`` are arguments that the application passes when it calls it."""
    target = target_of(node, path)
    parameters = inspect.signature(target).parameters
    hints = get_type_hints(target.__init__ if inspect.isclass(target) else target)
    bound: dict[str, Any] = {key: node[key] for key in node if key in _HYDRA_KEYS}
    for key, value in node.items():
        if key in _HYDRA_KEYS:
            continue
        if key not in parameters:
            takes = ", ".join(sorted(set(parameters) - supplied))
            raise ConfigError(f"{path}.{key} is unknown: {node['_target_']} takes {takes}")
        bound[key] = _checked(value, hints.get(key, Any), f"{path}.{key}")
    for key, parameter in parameters.items():
        if key in bound or key in supplied or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.default is not parameter.empty:
            bound[key] = parameter.default
        elif not node.get("_partial_", False) or supplied:
            raise ConfigError(f"{path}.{key} is missing: {node['_target_']} needs it")
    return bound


def _checked(value: Any, hint: Any, path: str) -> Any:
    if isinstance(value, Mapping) and "_target_" in value:
        return bind(value, path)
    if isinstance(value, Mapping) and any(isinstance(part, Mapping) and "_target_" in part for part in value.values()):
        return {key: _checked(part, Any, f"{path}.{key}") for key, part in value.items()}
    if value == "???":
        raise ConfigError(f"{path} has no value: set {path}=<value>")
    try:
        adapter = TypeAdapter(hint)
    except Exception:  # noqa: BLE001  (an annotation that is no schema, e.g. a Callable: only its presence can be checked)
        return value
    try:
        # JSON in strict mode: lists may become tuples and 1 may become 1.0, but "1" is no number.
        return adapter.dump_python(adapter.validate_json(json.dumps(value), strict=True), mode="json")
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join([path, *(str(part) for part in problem["loc"] if isinstance(part, int))])
        raise ConfigError(f"{where}={value!r} does not fit: {problem['msg']}") from error
