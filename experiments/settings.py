"""Values of a run that say where and how it is executed; none of them enters the run's key."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Paths:
    runs: str = "runs"


@dataclass(frozen=True)
class Execution:
    """``progress``: a bar on a terminal, plain lines elsewhere (auto), or one of them always."""

    checkpoint_seconds: float = 30.0
    progress: Literal["auto", "bar", "lines", "none"] = "auto"
