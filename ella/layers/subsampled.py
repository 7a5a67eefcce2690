"""What all equivariant layers share: a map at the resolution of its input, subsampled at the end by polyphase pooling.

The two halves can be called separately, because several equivariant maps that are added must be pooled once, together: each
component a pool chooses is translated in its own way when the input moves, so that the sum of maps pooled one by one is not
equivariant although each of them is.
"""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from ella.pooling import PolyphasePool


class Subsampled(nn.Module, ABC):
    """(B, c, extent_in, extent_in) -> (B, c', extent_out, extent_out), extent_out = extent_in or half of it."""

    def __init__(self, extent_in: int, extent_out: int):
        super().__init__()
        self.pool = nn.Identity() if extent_out == extent_in else PolyphasePool()

    @abstractmethod
    def convolve(self, features: Tensor) -> Tensor:
        """(B, c, extent_in, extent_in) -> (B, c', extent_in, extent_in)."""

    def forward(self, features: Tensor) -> Tensor:
        return self.pool(self.convolve(features))
