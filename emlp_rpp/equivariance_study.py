"""How the equivariance of a network develops while it is trained (thesis, section 3.5.2).

At every validation the mean of EquivErr (Eq. 3.3) over the validation inputs, each with a random element of the group of the
network. The elements are the same at every validation, and for every seed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from emlp_rpp.pathways import PathwayEMLP, equivariance_errors
from emlp_rpp.regression import Regression
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.protocol import TrainingPlan


class EquivarianceStudy(Regression):
    """Regression that logs ``equivariance_error`` and ends with its values after a quarter, half and all of the epochs."""

    model: PathwayEMLP

    def __init__(
        self, model: nn.Module, plan: TrainingPlan, data: Dataset, learning_rate: float = 3e-3, validations: int = 50
    ):
        if not isinstance(model, PathwayEMLP):
            raise ConfigError("learner=equivariance needs a network with residual pathways: model/network=rpp_o3, say")
        super().__init__(model, plan, data, learning_rate, validations)
        self.errors: list[float] = []

    def end_epoch(self, epoch: int) -> dict[str, float]:
        due = (epoch + 1) % self.every == 0 or epoch == self.last_epoch
        if due:  # before the best weights come back
            self.errors.append(self.equivariance_error())
        logged = super().end_epoch(epoch)
        return {**logged, "equivariance_error": self.errors[-1]} if due else logged

    def equivariance_error(self) -> float:
        kind = next(self.model.parameters())
        inputs = self.data.normalise(self.validation.inputs).to(kind)
        generator = torch.Generator().manual_seed(0)
        return float(equivariance_errors(self.predict, inputs, self.model.rep_in, self.model.rep_out, generator).mean())

    def final_metrics(self) -> dict[str, float]:
        if not self.errors:
            return {}
        quarters = {"quarter": 1, "half": 2, "end": 4}
        return {f"equivariance/{name}": self.errors[-(-at * len(self.errors) // 4) - 1] for name, at in quarters.items()}

    def arrays(self) -> dict[str, np.ndarray]:
        return {"equivariance_errors": np.array(self.errors)}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "errors": list(self.errors)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.errors = list(state["errors"])
