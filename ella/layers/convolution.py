"""CONV: the translation equivariant linear map, ELLA Eq. 3, with circular padding so that equivariance is strict.

    y(c', x', y') = sum_{c, x, y} theta(c', c, x' - x, y' - y) x(c, x, y) + b(c')

A smaller output is reached by polyphase pooling (App. F.2), which keeps the equivariance.
"""

import torch
from torch import Tensor

from ella.layers.subsampled import Subsampled
from symlab.models.circular import CircularConvolution
from symlab.models.initialisation import preserve_variance


class Convolution(Subsampled):
    """(B, c, extent_in, extent_in) -> (B, c', extent_out, extent_out), extent_out = extent_in or half of it."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int, kernel_size: int = 3):
        super().__init__(extent_in, extent_out)
        self.convolution = CircularConvolution(channels_in, channels_out, kernel_size)
        preserve_variance(self.convolution)

    def convolve(self, features: Tensor) -> Tensor:
        return self.convolution(features)

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        """Multiply the map (without its offset) by a factor."""
        self.convolution.weight.mul_(factor)
