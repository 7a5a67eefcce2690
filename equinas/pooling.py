"""Pooling that commutes with rotations and reflections, over space and over the group.

An average over windows is symmetric if the windows are, as a whole: on even sizes 2 x 2 windows side by side; on odd sizes
3 x 3 windows around every second pixel, from the first to the last, without what lies beyond the border. Both halve the
size, rounded up. (3 x 3 windows with a stride of 2 on an even size start at one border and never reach the other.)
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from equinas.fibres import blocks, coset_of, coset_order, cosets_split, spread
from equinas.transfer import Transfer, unchanged
from symlab.errors import ConfigError
from symlab.groups import Group


def symmetric_window(extent: int) -> nn.AvgPool2d:
    """The pooling of images with ``extent`` pixels a side."""
    return nn.AvgPool2d(2) if extent % 2 == 0 else nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)


class SymmetricAveragePool(nn.Module):
    """(B, C, H, H) -> (B, C, H', H') with H' = H / 2, rounded up."""

    def forward(self, features: Tensor) -> Tensor:
        height, width = features.shape[-2:]
        if height != width:
            raise ConfigError(f"rotations need square images, not {height} x {width}: set data.resolution")
        return symmetric_window(height)(features)


class PooledLinear(nn.Module):
    """A linear map of features averaged over space and over the group: (B, c |W|, H, W) -> (B, outputs).

    Relaxed to a subgroup there are more averages, whose mean is the old one: its weight is divided among them.
    """

    def __init__(self, group: Group, channels: int, outputs: int, whole: Group | None = None):
        super().__init__()
        self._group, self.whole, self.channels = group, group if whole is None else whole, channels
        self.cosets = len(self.whole) // len(group)
        self.linear = nn.Linear(blocks(channels, self.whole) * self.cosets, outputs)

    @property
    def group(self) -> Group:
        return self._group

    def forward(self, features: Tensor) -> Tensor:
        index = torch.tensor(coset_order(self.group, self.whole), device=features.device)
        copies = features.mean((2, 3)).unflatten(1, (-1, len(self.whole))).index_select(2, index)
        return self.linear(copies.unflatten(2, (self.cosets, -1)).mean(3).flatten(1))

    def expanded_weight(self) -> Tensor:
        """(outputs, c |W|): the same map of averages over space alone."""
        return spread(self.linear.weight.T, coset_of(self.group, self.whole), self.cosets).T / len(self.group)

    def fresh(self, subgroup: Group) -> "PooledLinear":
        return PooledLinear(subgroup, self.channels, self.linear.out_features, self.whole)

    def transfers(self, subgroup: Group) -> Mapping[str, Transfer]:
        split = cosets_split(self.group, subgroup, self.whole)
        weight = Transfer(lambda tensor: spread(tensor.T, split, self.cosets).T, gain=len(subgroup) / len(self.group))
        return {"linear.weight": weight, "linear.bias": Transfer(unchanged)}
