"""The equivariance relaxation morphism on networks: layers become layers of a subgroup, in place, the function stays.

``relax(network, "blocks.3", C4)`` works on any network that contains layers of this package: it relaxes the named layer, or
all layers inside the named block. With an optimiser given, the new parameters take the places of the old ones in its
groups, so that they are trained from the next step on. Its state (momentum, Adam's moments) is carried over or reset.
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from equinas.transfer import Relaxable, Transfer, relaxed
from symlab.errors import ConfigError
from symlab.groups import Group

StateOption = Literal["carry", "reset"]
# What an optimiser keeps for a parameter, by how it scales with the gradient; everything else ("step") is copied.
LINEAR = ("momentum_buffer", "exp_avg")
QUADRATIC = ("exp_avg_sq", "max_exp_avg_sq")


def relax(
    network: nn.Module,
    name: str,
    subgroup: Group,
    optimizer: torch.optim.Optimizer | None = None,
    optimizer_state: StateOption = "carry",
) -> None:
    """Relax the layers of ``network.get_submodule(name)`` whose group is larger than the subgroup."""
    layers = {
        path: layer
        for path, layer in network.named_modules()
        if (path == name or path.startswith(f"{name}.") or not name) and isinstance(layer, Relaxable)
    }
    # A kernel inside a convolution is what can be relaxed; the convolution itself only passes its group on.
    if not layers:
        raise ConfigError(f"{name!r} of {type(network).__name__} has no layer with a group to relax")
    for path, layer in layers.items():
        if not subgroup <= layer.group:
            raise ConfigError(f"{path} has the group {layer.group}, of which {subgroup} is no subgroup")
        if subgroup == layer.group:
            continue
        new = relaxed(layer, subgroup)
        if optimizer is not None:
            assert isinstance(layer, nn.Module)
            _replace_parameters(optimizer, layer, new, layer.transfers(subgroup), optimizer_state)
        _put(network, path, new)


def _put(network: nn.Module, path: str, layer: nn.Module) -> None:
    parent, _, own = path.rpartition(".")
    if not own:
        raise ConfigError("a network that is itself one layer cannot be relaxed in place: use equinas.transfer.relaxed")
    setattr(network.get_submodule(parent), own, layer)


def _replace_parameters(
    optimizer: torch.optim.Optimizer,
    old: nn.Module,
    new: nn.Module,
    transfers: Mapping[str, Transfer],
    option: StateOption,
) -> None:
    successors = dict(new.named_parameters())
    for name, parameter in old.named_parameters():
        for group in optimizer.param_groups:
            group["params"] = [successors[name] if other is parameter else other for other in group["params"]]
        state = optimizer.state.pop(parameter, None)
        if state and option == "carry":
            optimizer.state[successors[name]] = {key: _carried(key, value, transfers[name]) for key, value in state.items()}


def _carried(key: str, value: Any, transfer: Transfer) -> Any:
    if not isinstance(value, Tensor) or key not in LINEAR + QUADRATIC:
        return value
    power = 1 if key in LINEAR else 2
    return transfer.copy(value) * transfer.gradient_share**power
