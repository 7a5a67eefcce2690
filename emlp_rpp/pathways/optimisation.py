"""Adam with the learning rates that the pathways of a network ask for."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from symlab.trainer.descent import learning_rate_factors


def parameter_groups(module: nn.Module) -> list[dict[str, Any]]:
    """One group of trainable parameters for each ``factor`` of the learning rate, the largest first."""
    factors = learning_rate_factors(module)
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            groups.setdefault(factors.get(name, 1.0), []).append(parameter)
    return [{"params": groups[factor], "factor": factor} for factor in sorted(groups, reverse=True)]


FUSED_ADAM = partial(torch.optim.Adam, fused=True)


def adam(module: nn.Module, learning_rate: float, make: Callable[..., torch.optim.Optimizer] = FUSED_ADAM) -> Any:
    optimizer = make(parameter_groups(module), lr=learning_rate)
    set_learning_rate(optimizer, learning_rate)
    return optimizer


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * group["factor"]
