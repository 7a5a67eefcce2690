"""The baselines: networks whose architecture stays as it is, trained at a constant rate without weight decay.

For residual pathway priors the weights of the free (C1) kernels are penalised: loss + residual_penalty |w|^2 (Finzi et al.,
2021, with EquiNAS' 1e-6).
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from equinas.batch_statistics import BatchStatistics
from equinas.network import PathwayNetwork
from symlab.data.dataset import Dataset
from symlab.trainer.descent import Optimizer, PosteriorDescent, weights_of
from symlab.trainer.protocol import Batch, TrainingPlan


class StaticTraining:
    """``optimizer``: None is Adam. ``statistics_size``: of ``equinas.batch_statistics``, after every epoch."""

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        optimizer: Optimizer | None = None,
        learning_rate: float = 0.01,
        residual_penalty: float = 1e-6,
        statistics_size: int | None = None,
    ):
        self.model, self.statistics = model, BatchStatistics(data, statistics_size)
        residual = {id(weight) for weight in model.residual_weights()} if isinstance(model, PathwayNetwork) else set()
        # The descent's precisions delta stand for delta / (2 N) |w|^2.
        precisions = {
            name: 2 * plan.train_size * residual_penalty if id(weight) in residual else 0.0
            for name, weight in weights_of(model).items()
        }
        self.descent = PosteriorDescent(model, plan, precisions, learning_rate, learning_rate, optimizer)

    def step(self, batch: Batch) -> dict[str, float]:
        return self.descent.step(batch)

    def end_epoch(self, epoch: int) -> dict[str, float]:
        self.statistics.renew(self.model)
        return {}

    def predict(self, inputs: Tensor) -> Tensor:
        return self.descent.predict(inputs)

    def state_dict(self) -> dict[str, Any]:
        return self.descent.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state_dict(state)
