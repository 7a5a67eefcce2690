"""Regression as the thesis trains it (appendix A.1.9, A.1.10): Adam at a constant rate, early stopping on validation data.

    L(theta) = 1/(B D) sum_n |f(x_n; theta) - y_n|^2  - 1/N log p(theta)

p(theta) is the prior of residual pathways, where the network has any (section 3.4), and 1 for other networks: it counts once
for all N training examples.

Early stopping: training lasts as long as it was planned; evaluated are the weights of lowest validation error, which is
computed ``validations`` times, evenly over the epochs.
"""

from collections.abc import Mapping
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from emlp_rpp.models import Augmented
from emlp_rpp.pathways import adam, has_prior, negative_log_prior
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.evaluation import regression_metrics
from symlab.trainer.protocol import Batch, TrainingPlan

_BATCH = 500  # of a validation


class Regression:
    def __init__(
        self, model: nn.Module, plan: TrainingPlan, data: Dataset, learning_rate: float = 3e-3, validations: int = 50
    ):
        if data.validation is None or data.n_classes:
            raise ConfigError(f"early stopped regression needs real targets and a validation set; {data.name} has not both")
        if data.train.targets.ndim != 2:
            raise ConfigError(
                f"early stopped regression needs targets (N, D); {data.name} has {data.train.targets.ndim} axes"
            )
        if validations < 1:
            raise ConfigError(f"learner.validations={validations} does not fit: at least 1 is needed")
        self.model, self.data, self.validation = model, data, data.validation
        self.last_epoch, self.train_size = plan.epochs - 1, plan.train_size
        self.every = max(1, plan.epochs // validations)
        self.optimizer = adam(model, learning_rate)
        self.has_prior = has_prior(model)
        self.best_error = inf
        self.best: dict[str, Tensor] = {}

    def step(self, batch: Batch) -> dict[str, float]:
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        inputs, targets = batch.inputs, batch.targets.to(batch.inputs.dtype)
        if isinstance(self.model, Augmented):
            inputs, targets = self.model.augment(inputs, targets)
        loss = (self.model(inputs) - targets).square().mean()
        objective = loss + negative_log_prior(self.model) / self.train_size if self.has_prior else loss
        objective.backward()
        self.optimizer.step()
        return {"loss": loss.item()}

    def end_epoch(self, epoch: int) -> dict[str, float]:
        last = epoch == self.last_epoch
        if (epoch + 1) % self.every and not last:
            return {}
        error = self._validation_error()
        if error < self.best_error:
            self.best_error = error
            self.best = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        if last and self.best:
            self.model.load_state_dict(self.best)
        return {"validation/mse": error}

    @torch.no_grad()
    def _validation_error(self) -> float:
        kind = next(self.model.parameters()).dtype
        inputs = self.data.normalise(self.validation.inputs).to(kind)
        outputs = torch.cat([self.predict(part) for part in inputs.split(_BATCH)])
        return regression_metrics(outputs, self.validation.targets)["mse"]

    def predict(self, inputs: Tensor) -> Tensor:
        self.model.eval()
        return self.model(inputs)

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "best_error": self.best_error,
            "best": self.best,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.best_error, self.best = state["best_error"], dict(state["best"])
