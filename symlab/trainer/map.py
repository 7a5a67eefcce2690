"""Maximum a posteriori training: the baseline that leaves every hyperparameter where it is.

One prior p(theta) = N(0, delta^-1 I) for all weights; the objective and its optimiser are those of ``PosteriorDescent``.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from symlab.trainer.descent import PosteriorDescent, weights_of
from symlab.trainer.protocol import Batch, TrainingPlan


class MAP:
    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        prior_precision: float = 1.0,
        learning_rate: float = 0.01,
        final_learning_rate: float = 0.0,
    ):
        self.model = model
        precisions = dict.fromkeys(weights_of(model), prior_precision)
        self.descent = PosteriorDescent(model, plan, precisions, learning_rate, final_learning_rate)

    def step(self, batch: Batch) -> dict[str, float]:
        return self.descent.step(batch)

    def end_epoch(self, epoch: int) -> dict[str, float]:
        return {}

    def predict(self, inputs: Tensor) -> Tensor:
        return self.descent.predict(inputs)

    def state_dict(self) -> dict[str, Any]:
        return self.descent.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state_dict(state)
