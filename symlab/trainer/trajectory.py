"""What eta went through, for figures."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Trajectory:
    """One entry per fit (or epoch): eta as it was, and the objective at it."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.values: list[list[float]] = []
        self.objectives: list[float] = []

    def add(self, epoch: int, values: Tensor, objective: float) -> None:
        self.epochs.append(epoch)
        self.values.append(values.tolist())
        self.objectives.append(objective)

    def arrays(self) -> dict[str, np.ndarray]:
        """``epoch (T,)``, ``eta (T, G)`` and ``objective (T,)``."""
        return {
            "epoch": np.array(self.epochs, dtype=np.int64),
            "eta": torch.tensor(self.values, dtype=torch.float64).numpy(),
            "objective": np.array(self.objectives, dtype=np.float64),
        }

    def state_dict(self) -> dict[str, Any]:
        return {
            "epochs": list(self.epochs),
            "values": torch.tensor(self.values, dtype=torch.float64),
            "objectives": list(self.objectives),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.epochs, self.objectives = list(state["epochs"]), list(state["objectives"])
        self.values = state["values"].tolist()
