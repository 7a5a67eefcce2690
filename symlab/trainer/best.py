"""The best state that a run went through, so that it can end there."""

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn


class BestState:
    """Keeps a copy of what ``modules`` held when a score was lowest."""

    def __init__(self, modules: Mapping[str, nn.Module]):
        self.modules = dict(modules)
        self.score = math.inf
        self._state: dict[str, Any] = {}

    def offer(self, score: float) -> None:
        """Keep the present state if no earlier one had a score as low."""
        if score < self.score:
            self.score, self._state = score, self._each(lambda module: copy.deepcopy(module.state_dict()))

    def restore(self) -> None:
        """Bring the modules back to the best state offered; without one they stay as they are."""
        for name, state in self._state.items():
            self.modules[name].load_state_dict(state)

    def state_dict(self) -> dict[str, Any]:
        return {"score": self.score, "state": self._state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.score, self._state = state["score"], copy.deepcopy(state["state"])

    def _each(self, read: Callable[[nn.Module], Any]) -> dict[str, Any]:
        return {name: read(module) for name, module in self.modules.items()}
