"""Functions with derivatives of their own bind their arguments by the signature of ``forward`` at every call; reading it off
the code each time took half of what such a call costs."""

import inspect
from collections.abc import Callable
from typing import Any


def with_signature(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with its signature written down."""
    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    return forward
