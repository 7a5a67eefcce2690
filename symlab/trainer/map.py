"""Maximum a posteriori training: the baseline that leaves every hyperparameter where it is.

    objective(theta) = -1/N sum_n log p(y_n | f(x_n; theta)) + delta / (2 N) |theta|^2

with prior p(theta) = N(0, delta^-1 I). The gradient of the second term is delta/N theta, which is what Adam's (coupled)
``weight_decay`` adds, so the prior costs no extra pass. The learning rate follows a cosine from ``learning_rate`` to
``final_learning_rate`` over all steps (ELLA App. F.6).
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from symlab.trainer.protocol import Batch, TrainingPlan


def negative_log_likelihood(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean over the batch: categorical for integer targets, Gaussian of unit noise (up to a constant) for real ones."""
    if targets.is_floating_point():
        return 0.5 * (outputs - targets.reshape(outputs.shape)).square().sum(-1).mean()
    return nn.functional.cross_entropy(outputs, targets)


def cosine_annealed(start: float, end: float, step: int, total_steps: int) -> float:
    return end + 0.5 * (start - end) * (1 + math.cos(math.pi * step / total_steps))


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
        self.learning_rate = learning_rate
        self.final_learning_rate = final_learning_rate
        self.total_steps = plan.total_steps
        self.steps_done = 0
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.Adam(
            parameters, lr=learning_rate, weight_decay=prior_precision / plan.train_size, fused=True
        )

    def step(self, batch: Batch) -> dict[str, float]:
        rate = cosine_annealed(self.learning_rate, self.final_learning_rate, self.steps_done, self.total_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        outputs = self.model(batch.inputs)
        loss = negative_log_likelihood(outputs, batch.targets)
        loss.backward()
        self.optimizer.step()
        self.steps_done += 1
        metrics = {"loss": loss.item()}
        if not batch.targets.is_floating_point():
            metrics["accuracy"] = (outputs.argmax(-1) == batch.targets).float().mean().item()
        return metrics

    def end_epoch(self, epoch: int) -> dict[str, float]:
        return {}

    def predict(self, inputs: Tensor) -> Tensor:
        self.model.eval()
        return self.model(inputs)

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "steps_done": self.steps_done,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps_done = state["steps_done"]
