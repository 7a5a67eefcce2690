"""Descent of the weights (by Adam, unless another optimiser is given) under a Gaussian prior, one precision per tensor.

    objective(theta) = -1/N sum_n log p(y_n | f(x_n; theta)) + sum_g delta_g / (2 N) |theta_g|^2

The gradient of the second term, delta_g / N theta_g, is added to that of the batch (a coupled weight decay, one for each
tensor), so the prior costs no extra pass; for large tensors Adam adds it, which reads them anyway. The learning rate follows
a cosine from ``learning_rate`` to ``final_learning_rate`` over all steps (ELLA App. F.6).

Hyperparameters of layers, which a module names in a method ``hyperparameters()``, are trained along without a prior, unless
``trained`` says which parameters are. A module may ask for another learning rate of some of its parameters in a method
``learning_rate_factors()``: their names, each with the factor (Fixup trains its scalars at a tenth of the rate).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.trainer.protocol import Batch, TrainingPlan

LARGE = 2**20  # entries

Optimizer = Callable[..., torch.optim.Optimizer]  # of parameter groups, e.g. partial(torch.optim.SGD, momentum=0.9)


def negative_log_likelihood(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean over the batch: categorical for integer targets, Gaussian of unit noise (up to a constant) for real ones."""
    if targets.is_floating_point():
        return 0.5 * (outputs - targets.reshape(outputs.shape)).square().sum(-1).mean()
    return nn.functional.cross_entropy(outputs, targets)


def cosine_annealed(start: float, end: float, step: int, total_steps: int) -> float:
    return end + 0.5 * (start - end) * (1 + math.cos(math.pi * step / total_steps))


def hyperparameter_names(model: nn.Module) -> list[str]:
    """Full names of what the modules call their hyperparameters: parameters that have neither a prior nor curvature."""
    names = []
    for prefix, module in model.named_modules():
        if not hasattr(module, "hyperparameters"):
            continue
        own = dict(module.named_parameters())
        for name in module.hyperparameters():
            if name not in own:
                raise ConfigError(
                    f"{type(module).__name__}.hyperparameters() names {name!r}, which is no parameter of '{prefix}'"
                )
            names.append(f"{prefix}.{name}" if prefix else name)
    return names


def learning_rate_factors(model: nn.Module) -> dict[str, float]:
    """Full names of the parameters whose learning rate is not the common one, with what it is multiplied by."""
    factors = {}
    for prefix, module in model.named_modules():
        if not hasattr(module, "learning_rate_factors"):
            continue
        own = dict(module.named_parameters())
        for name, factor in module.learning_rate_factors().items():
            if name not in own:
                raise ConfigError(
                    f"{type(module).__name__}.learning_rate_factors() names {name!r}, which is no parameter of '{prefix}'"
                )
            factors[f"{prefix}.{name}" if prefix else name] = factor
    return factors


def weights_of(model: nn.Module) -> dict[str, nn.Parameter]:
    """The trainable parameters that have a prior, by name."""
    hyperparameters = set(hyperparameter_names(model))
    named = model.named_parameters()
    return {name: tensor for name, tensor in named if tensor.requires_grad and name not in hyperparameters}


class PosteriorDescent:
    """``precisions`` are those of the weights by name; they may be changed between steps. ``trained``: the parameters that
    are updated, by default all that require a gradient. ``optimizer`` makes the optimiser; the rate is set here."""

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        precisions: Mapping[str, float],
        learning_rate: float,
        final_learning_rate: float,
        optimizer: Optimizer | None = None,
        trained: Iterable[nn.Parameter] | None = None,
    ):
        self.model, self.plan = model, plan
        self.precisions = dict(precisions)
        self.learning_rate, self.final_learning_rate = learning_rate, final_learning_rate
        self.steps_done = 0
        self.weights = weights_of(model)
        groups = self._groups(model.parameters() if trained is None else trained, has_decay=optimizer is None)
        make = partial(torch.optim.Adam, fused=True) if optimizer is None else optimizer
        self.optimizer = make(groups, lr=learning_rate)

    def step(self, batch: Batch) -> dict[str, float]:
        rate = cosine_annealed(self.learning_rate, self.final_learning_rate, self.steps_done, self.plan.total_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
            if "decayed" in group:
                group["weight_decay"] = self.precisions[group["decayed"]] / self.plan.train_size
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        outputs = self.model(batch.inputs)
        loss = negative_log_likelihood(outputs, batch.targets)
        loss.backward()
        self._add_gradient_of_prior()
        self.optimizer.step()
        self.steps_done += 1
        metrics = {"loss": loss.item()}
        if not batch.targets.is_floating_point():
            metrics["accuracy"] = (outputs.argmax(-1) == batch.targets).float().mean().item()
        return metrics

    def _groups(self, trained: Iterable[nn.Parameter], has_decay: bool) -> list[dict[str, Any]]:
        """One group for each factor of the learning rate; with an optimiser that has a coupled weight decay, one for each
        large tensor that has a prior. (For each small one as well, a step would take twice as long.)"""
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        factors = learning_rate_factors(self.model)
        groups: dict[float, list[nn.Parameter]] = {}
        large: list[dict[str, Any]] = []
        for parameter in trained:
            if not parameter.requires_grad:
                continue
            name = names[id(parameter)]
            factor = factors.get(name, 1.0)
            if has_decay and name in self.weights and parameter.numel() >= LARGE:
                large.append({"params": [parameter], "factor": factor, "decayed": name})
            else:
                groups.setdefault(factor, []).append(parameter)
        return [*({"params": parameters, "factor": factor} for factor, parameters in groups.items()), *large]

    @torch.no_grad()
    def _add_gradient_of_prior(self) -> None:
        decayed = {group.get("decayed") for group in self.optimizer.param_groups}
        for name, weight in self.weights.items():
            if weight.grad is not None and name not in decayed:
                weight.grad.add_(weight, alpha=self.precisions[name] / self.plan.train_size)

    def predict(self, inputs: Tensor) -> Tensor:
        self.model.eval()
        return self.model(inputs)

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "precisions": dict(self.precisions),
            "steps_done": self.steps_done,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.precisions = dict(state["precisions"])
        self.steps_done = state["steps_done"]
