"""Reading and writing the small text files of a table: errors name the file, writes are atomic."""

import difflib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from symlab.errors import TableError


class _UniqueKeyLoader(yaml.SafeLoader):
    """The safe loader, but a key written twice in one mapping is an error instead of the last one winning."""


def _construct_unique_mapping(loader: _UniqueKeyLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[str] = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            continue
        if key_node.value in seen:
            problem = f"the key {key_node.value!r} occurs twice"
            raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
        seen.add(key_node.value)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_unique_mapping)


def one_line(text: object) -> str:
    """Return ``text`` with every run of white space, line breaks included, as a single space."""
    return " ".join(str(text).split())


def read_text(file: Path) -> str:
    """Return the content of ``file``, or raise a TableError that names it."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TableError(f"{file}: the file is missing; every table folder needs it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{file}: cannot be read as UTF-8 text: {one_line(error)}") from None


def read_yaml(file: Path) -> Any:
    """Parse ``file`` as YAML with safe tags only; a syntax error or a repeated key is a TableError with its line."""
    text = read_text(file)
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TableError(f"{file}: not valid YAML{line}: {one_line(error.problem or error.context)}") from None
    except yaml.YAMLError as error:
        raise TableError(f"{file}: not valid YAML: {one_line(error)}") from None


def write_atomically(file: Path, text: str) -> None:
    """Write ``text`` so that a reader sees either the old content or all of the new one, never a part."""
    with write_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes the file private; results are meant to be read
            os.replace(temporary, file)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system (disk full, no permission) into a TableError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise TableError(f"{path}: cannot be written: {error.strerror or one_line(error)}") from error


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the part of an error message that says what could have been meant instead of ``word``."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(repr(name) for name in close) + "?"
    return "known are: " + (", ".join(repr(name) for name in names) or "none")
