"""Merging lists of Hydra overrides without Hydra.

An override is ``key=value``, ``+key=value``, ``++key=value`` or ``~key``. Its key is the text before ``=`` without the
leading signs, so that ``++trainer.epochs=3`` replaces an earlier ``trainer.epochs=10``.
"""

from collections.abc import Iterable


def override_key(override: str) -> str:
    """Return the configuration key that ``override`` sets or deletes.

    Example:
        >>> override_key("++trainer.epochs=3")
        'trainer.epochs'
    """
    return override.split("=", 1)[0].lstrip("+~").strip()


def is_override(text: str) -> bool:
    """Say whether ``text`` has the shape of an override; whether its key exists is for Hydra to say."""
    has_value = "=" in text or text.startswith("~")
    return has_value and bool(override_key(text)) and "\n" not in text


def merge_overrides(*layers: Iterable[str]) -> tuple[str, ...]:
    """Join the layers in order; of the overrides with the same key only the last one stays, at its own place.

    Example:
        >>> merge_overrides(["a=1", "b=2"], ["a=3"])
        ('b=2', 'a=3')
    """
    merged: dict[str, str] = {}
    for layer in layers:
        for override in layer:
            key = override_key(override)
            merged.pop(key, None)
            merged[key] = override
    return tuple(merged.values())
