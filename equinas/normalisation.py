"""Batch normalisation that commutes with a group: mean, variance, scale and offset of an independent channel are shared by
all elements of the group.

Relaxed to a subgroup, every channel becomes several, each with a copy of those numbers. While training, the batch's mean and
variance are then taken over fewer elements; in evaluation the function is the same. To keep it the same in training too,
relax the convolution alone.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from equinas.fibres import blocks, coset_order, cosets_split, spread
from equinas.transfer import Transfer, unchanged
from symlab.groups import Group


class GroupBatchNorm(nn.Module):
    """(B, c |W|, H, W), normalised for c |R| channels on G <= W."""

    def __init__(self, group: Group, channels: int, whole: Group | None = None):
        super().__init__()
        self._group, self.whole, self.channels = group, group if whole is None else whole, channels
        self.cosets = len(self.whole) // len(group)
        self.normalisation = nn.BatchNorm2d(blocks(channels, self.whole) * self.cosets)
        # Where the elements of each coset lie side by side already, a view does.
        self.order = coset_order(group, self.whole)
        self.is_ordered = self.order == tuple(range(len(self.whole)))

    @property
    def group(self) -> Group:
        return self._group

    def forward(self, features: Tensor) -> Tensor:
        size, _, height, width = features.shape
        copies = features if self.is_ordered else self._reordered(features, self.order)
        normalised = self.normalisation(copies.reshape(size, -1, len(self.group) * height, width))
        result = normalised.view(size, self.channels, height, width)
        return result if self.is_ordered else self._reordered(result, _inverse(self.order))

    def _reordered(self, features: Tensor, order: tuple[int, ...]) -> Tensor:
        index = torch.tensor(order, device=features.device)
        return features.unflatten(1, (-1, len(self.whole))).index_select(2, index).flatten(1, 2)

    def expanded(self, values: Tensor) -> Tensor:
        """(c |R|,) of the independent channels -> (c |W|,) of all channels."""
        by_coset = values.repeat_interleave(len(self.group))
        return spread(by_coset, _inverse(self.order), len(self.whole))

    def fresh(self, subgroup: Group) -> "GroupBatchNorm":
        return GroupBatchNorm(subgroup, self.channels, self.whole)

    def transfers(self, subgroup: Group) -> Mapping[str, Transfer]:
        split = cosets_split(self.group, subgroup, self.whole)
        share = len(subgroup) / len(self.group)
        copied = Transfer(partial(spread, positions=split, size=self.cosets), gradient_share=share)
        tensors = ("weight", "bias", "running_mean", "running_var")
        found = {f"normalisation.{name}": copied for name in tensors}
        return found | {"normalisation.num_batches_tracked": Transfer(unchanged)}


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))
