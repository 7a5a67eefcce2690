"""What the training loop asks of a method, and what it tells it.

A learner owns its model, its optimisers and everything it learns besides the weights (prior precisions, invariances,
architectures). Methods satisfy the protocol structurally; ``tests/contracts.py`` holds the suite each of them inherits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Normalised inputs (B, ...) and their targets (B,) or (B, D), on the model's device."""

    inputs: Tensor
    targets: Tensor


@dataclass(frozen=True)
class TrainingPlan:
    """The sizes a learner needs to scale its prior to N data points and to anneal its learning rates."""

    train_size: int
    batch_size: int
    epochs: int

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(self.train_size / self.batch_size)

    @property
    def total_steps(self) -> int:
        return self.epochs * self.steps_per_epoch


@runtime_checkable
class Learner(Protocol):
    model: torch.nn.Module

    def step(self, batch: Batch) -> dict[str, float]:
        """One update of the weights; returns what happened, with the objective under ``loss``."""
        ...

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """Updates of hyperparameters, invariances or architecture after an epoch; returns what is worth logging."""
        ...

    def predict(self, inputs: Tensor) -> Tensor:
        """Logits or log-probabilities (B, C) of normalised inputs; means (B, D) for regression. No side effects."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything a resume needs, as tensors and plain Python values."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
