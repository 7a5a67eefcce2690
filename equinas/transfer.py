"""How the tensors of a layer become those of the layer relaxed to a subgroup, and what that means for an optimiser.

A layer that can be relaxed has a ``group`` and says, for every tensor of its state, how it is copied (a linear map) and by
what it is then multiplied so that the function stays the same. An entry that becomes n = |G| / |G'| entries, each of which
does its work for a part of the group, passes 1/n of its gradient on to each of them (``gradient_share``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from symlab.groups import Group


@dataclass(frozen=True)
class Transfer:
    copy: Callable[[Tensor], Tensor]
    gain: float = 1.0
    gradient_share: float = 1.0

    def value(self, tensor: Tensor) -> Tensor:
        copied = self.copy(tensor.detach())
        return copied.clone() if self.gain == 1.0 else copied * self.gain


def unchanged(tensor: Tensor) -> Tensor:
    return tensor


@runtime_checkable
class Relaxable(Protocol):
    @property
    def group(self) -> Group: ...

    def fresh(self, subgroup: Group) -> nn.Module:
        """A layer of the same sizes for the subgroup."""
        ...

    def transfers(self, subgroup: Group) -> Mapping[str, Transfer]:
        """One for every key of the layer's ``state_dict``."""
        ...


def relaxed(layer: Relaxable, subgroup: Group) -> nn.Module:
    """A layer of the subgroup that computes the same function (in evaluation, for batch normalisation)."""
    assert isinstance(layer, nn.Module)
    state = layer.state_dict()
    target = layer.fresh(subgroup)
    example = next(tensor for tensor in state.values() if tensor.is_floating_point())
    target.to(example.device, example.dtype)
    transfers = layer.transfers(subgroup)
    with torch.no_grad():
        target.load_state_dict({name: transfers[name].value(tensor) for name, tensor in state.items()})
    target.train(layer.training)
    return target
