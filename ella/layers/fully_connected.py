"""FC: the unconstrained linear map between feature maps, ELLA Eq. 1.

    y(c', x', y') = sum_{c, x, y} theta(c', c, x', y', x, y) x(c, x, y) + b(c', x', y')

The output is computed at its final resolution, so nothing is pooled.
"""

import math

import torch
from torch import Tensor, nn

from symlab.models.initialisation import preserve_variance


class FullyConnected(nn.Module):
    """(B, c, extent_in, extent_in) -> (B, c', extent_out, extent_out)."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int):
        super().__init__()
        self.output_shape = (channels_out, extent_out, extent_out)
        self.linear = nn.Linear(channels_in * extent_in**2, math.prod(self.output_shape))
        preserve_variance(self.linear)

    def forward(self, features: Tensor) -> Tensor:
        return self.linear(features.flatten(1)).view(-1, *self.output_shape)

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        """Multiply the map (without its offset) by a factor."""
        self.linear.weight.mul_(factor)
