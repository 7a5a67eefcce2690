"""The architecture of all experiments, ELLA Table 6 (adapted there from Neyshabur, 2020).

Eight blocks of one linear map and a ReLU with channels (1, 2, 2, 4, 4, 8, 8, 16) alpha; the spatial extent halves in blocks
2, 4, 6, 7 and 8, from 32 to 1. Two dense layers 16 alpha -> 64 alpha -> classes follow. At a smaller resolution the extent
halves at the same blocks until it is 1.

The printed Table 6 contradicts itself in the input sizes of blocks 3, 5 and 8 (e.g. alpha channels into the third block
after 2 alpha came out of the second); the sizes here follow its output column and give the parameter counts of Table 2.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

from torch import Tensor, nn

from ella.inspection import inspect_layers, layer_metrics
from ella.layers.group_convolution import ROTATIONS, lift, strongest_rotation
from symlab.errors import ConfigError
from symlab.laplace.summary import TensorSummary
from symlab.models.initialisation import preserve_variance

CHANNEL_FACTORS = (1, 2, 2, 4, 4, 8, 8, 16)
HALVING_BLOCKS = (1, 3, 5, 6, 7)  # counted from 0
HEAD_FACTOR = 64

LayerBuilder = Callable[[int, int, int, int], nn.Module]


class Network(nn.Module):
    """(B, c, r, r) -> (B, n_outputs).

    ``layer(channels_in, channels_out, extent_in, extent_out)`` builds the linear map of each block.
    """

    copies: ClassVar[int] = 1  # of every channel, for the elements of a group besides translations

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, layer: LayerBuilder, alpha: int = 10):
        super().__init__()
        if len(input_shape) != 3 or input_shape[1] != input_shape[2] or input_shape[1] & (input_shape[1] - 1):
            raise ConfigError(
                f"this network takes square images whose side is a power of two (at most 32), got shape {input_shape}: "
                "set data.resolution=32 (or 16, 8)"
            )
        channels, extent = input_shape[0], input_shape[1]
        blocks: list[nn.Module] = []
        for block, factor in enumerate(CHANNEL_FACTORS):
            extent_out = extent // 2 if block in HALVING_BLOCKS and extent > 1 else extent
            blocks += [layer(self.copies * channels, self.copies * factor * alpha, extent, extent_out), nn.ReLU()]
            channels, extent = factor * alpha, extent_out
        if extent != 1:
            raise ConfigError(
                f"an image of side {input_shape[1]} ends at side {extent} instead of 1: set data.resolution=32"
            )
        self.blocks = nn.Sequential(*blocks)
        hidden, last = nn.Linear(channels, HEAD_FACTOR * alpha), nn.Linear(HEAD_FACTOR * alpha, n_outputs)
        preserve_variance(hidden)
        preserve_variance(last, gain=1.0)
        self.head = nn.Sequential(nn.Flatten(), hidden, nn.ReLU(), last)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.blocks(images))

    def describe_fit(self, tensors: Mapping[str, TensorSummary]) -> dict[str, float]:
        """What a fit says of the layers and their paths (App. D), as metrics."""
        return layer_metrics(inspect_layers(tensors))


class RotationNetwork(Network):
    """The same on Z^2 x p4: the image is lifted to four copies of its channels, one for each rotation by 90 degrees, and the
    strongest of them is kept after the last block. All layers act on 4 c channels: group convolutions keep the copies apart
    or mix them equivariantly, the others see as many channels (App. B)."""

    copies: ClassVar[int] = ROTATIONS

    def forward(self, images: Tensor) -> Tensor:
        return self.head(strongest_rotation(self.blocks(lift(images))))
