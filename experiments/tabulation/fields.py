"""Typed access to one mapping of a YAML file, with errors that name the file and the key."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.tabulation.files import one_line, suggest
from experiments.tabulation.overrides import is_override
from symlab.errors import TableError

_SHOWN = 60  # characters of a wrong value that an error message repeats


class Fields:
    """The keys of a mapping found at ``where`` in ``file``; each is read by type, unknown ones are refused."""

    def __init__(self, data: Any, file: Path, where: str = "", known: Sequence[str] = ()):
        self.file, self.where = file, where
        if not isinstance(data, dict):
            raise TableError(f"{file}: {where or 'the file'} must be a mapping of keys to values, not {_shown(data)}")
        self.data: dict[Any, Any] = data
        for key in data:
            if known and key not in known:
                raise self.error(key, f"unknown key; {suggest(str(key), known)}")

    def path(self, key: object) -> str:
        return f"{self.where}.{key}" if self.where else str(key)

    def error(self, key: object, problem: str) -> TableError:
        return TableError(f"{self.file}: {self.path(one_line(key))}: {problem}")

    def __contains__(self, key: str) -> bool:
        return self.data.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """Return a non-empty one-line string; without ``default`` the key is required."""
        value = self.data.get(key, default)
        if value is None:
            raise self.error(key, "is missing; add it")
        if not isinstance(value, str):
            raise self.error(key, f"must be text, not {_shown(value)}; put it in quotes")
        if not value.strip() and value != default:
            raise self.error(key, "is empty; write it or leave the key out")
        return one_line(value)

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if key in self else None

    def number(self, key: str, default: float) -> float:
        """Return a number; YAML 1.1 reads ``1e-6`` as text, so text that is a number counts as one."""
        value = self.data.get(key, default)
        try:
            if isinstance(value, int | float | str) and not isinstance(value, bool):
                return float(value)
        except ValueError:
            pass
        raise self.error(key, f"must be a number, not {_shown(value)}")

    def integer(self, key: str, default: int) -> int:
        value = self.data.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.error(key, f"must be a whole number that is not negative, not {_shown(value)}")
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        value = self.data.get(key)
        if value is not None and value not in choices:
            raise self.error(key, f"must be one of {', '.join(choices)} or null, not {_shown(value)}")
        return value

    def items(self, key: str) -> list[Any]:
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, f"must be a list, not {_shown(value)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        for item in self.items(key):
            if not isinstance(item, str) or not item.strip():
                raise self.error(key, f"each entry must be text, not {_shown(item)}; put it in quotes")
        return tuple(self.items(key))

    def overrides(self, key: str = "overrides") -> tuple[str, ...]:
        for item in self.items(key):
            if not isinstance(item, str) or not is_override(item):
                raise self.error(key, f"each entry must be an override such as trainer.epochs=10, not {_shown(item)}")
        return tuple(self.items(key))

    def seeds(self, key: str = "seeds") -> tuple[int, ...]:
        seeds = self.items(key)
        if not seeds or any(not isinstance(seed, int) or isinstance(seed, bool) or seed < 0 for seed in seeds):
            raise self.error(key, f"must be a list of at least one whole number, not {_shown(self.data.get(key))}")
        if len(set(seeds)) != len(seeds):
            raise self.error(key, f"a seed occurs twice in {_shown(seeds)}; each seed is one run")
        return tuple(seeds)

    def nested(self, key: str, known: Sequence[str] = ()) -> "Fields":
        return Fields(self.data.get(key) or {}, self.file, self.path(key), known)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
