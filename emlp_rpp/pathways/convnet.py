"""The networks of Table 3.1 (thesis, section 3.5.3 and A.2.3.2): convolutions with a dense layer beside each of them.

    x' = relu(norm(A x + a + B x + b)),   A of convolutions, B of all dense layers between the same two maps   (Eq. 3.2)

then a linear layer from the flattened last map. Without residual variance this is a convolutional network, without
equivariant variance the equivalent MLP. The norm, the pooling and the last layer are common to all three and have no prior.

Layout: (B, C, H, W), or rows (B, D) that are folded to one channel of ``image_shape``, zeros after the last entry.
"""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from emlp_rpp.errors import InputSizeError
from emlp_rpp.pathways.convolution import Convolution, Padding
from emlp_rpp.pathways.dense import Dense
from emlp_rpp.pathways.prior import PathwayPrior
from emlp_rpp.pathways.residual import ResidualPathway
from symlab.errors import ConfigError

Normalisation = Literal["none", "batch"]


def pathway_convolution(
    shape_in: tuple[int, int, int],
    channels: int,
    prior: PathwayPrior,
    kernel_size: int = 3,
    stride: int = 1,
    padding: Padding = "zero",
) -> tuple[ResidualPathway, tuple[int, int, int]]:
    """RPP-Conv, and the shape of its output."""
    convolution = Convolution(shape_in, channels, kernel_size, stride, padding)
    shape_out = convolution.shape_out
    residual = Dense(shape_in, shape_out) if prior.has_residual else None
    return ResidualPathway(convolution if prior.has_equivariant else None, residual, prior), shape_out


class FoldedRows(nn.Module):
    """(B, D) -> (B, 1, H, W), row by row, zeros after the last entry."""

    def __init__(self, size: int, image_shape: tuple[int, int]):
        super().__init__()
        self.size, (self.height, self.width) = size, image_shape
        self.missing = self.height * self.width - size
        if self.missing < 0:
            raise ConfigError(f"model.image_shape={image_shape} does not fit: the data's rows have {size} entries")

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim != 2 or x.shape[1] != self.size:
            raise InputSizeError(f"an input of shape {tuple(x.shape)} does not fit: (batch, {self.size}) is needed")
        return functional.pad(x, (0, self.missing)).view(-1, 1, self.height, self.width)


class PathwayConvNet(nn.Module):
    """``channels``: of each layer; ``pooled_after``: the layers, from 1 on, that a 2 x 2 maximum follows; ``strides``: of
    each layer, all 1 by default; ``image_shape``: what rows are folded to."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        prior: PathwayPrior,
        channels: tuple[int, ...],
        pooled_after: tuple[int, ...] = (),
        strides: tuple[int, ...] | None = None,
        kernel_size: int = 3,
        padding: Padding = "zero",
        normalisation: Normalisation = "batch",
        image_shape: tuple[int, int] | None = None,
    ):
        super().__init__()
        shape, layers = _first_shape(tuple(input_shape), image_shape)
        steps = tuple(strides or (1,) * len(channels))
        if not channels or len(steps) != len(channels):
            raise ConfigError(f"model.channels={channels} and model.strides={strides} do not fit: one of each per layer")
        if any(not 1 <= at <= len(channels) for at in pooled_after):
            raise ConfigError(f"model.pooled_after={pooled_after} does not fit: layers 1 to {len(channels)}")
        for at, (width, stride) in enumerate(zip(channels, steps), 1):
            layer, shape = pathway_convolution(shape, width, prior, kernel_size, stride, padding)
            layers += [layer, nn.BatchNorm2d(width) if normalisation == "batch" else nn.Identity(), nn.ReLU()]
            if at in pooled_after:
                if min(shape[1:]) < 2:
                    raise ConfigError(f"model.pooled_after={pooled_after} does not fit: nothing is left to pool at {at}")
                layers.append(nn.MaxPool2d(2))
                shape = (width, shape[1] // 2, shape[2] // 2)
        self.features = nn.Sequential(*layers)
        self.output = nn.Linear(shape[0] * shape[1] * shape[2], n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.features(x).flatten(1))


def _first_shape(
    input_shape: tuple[int, ...], image_shape: tuple[int, int] | None
) -> tuple[tuple[int, int, int], list[nn.Module]]:
    if image_shape is not None and len(input_shape) == 1:
        height, width = image_shape
        return (1, height, width), [FoldedRows(input_shape[0], (height, width))]
    if image_shape is not None or len(input_shape) != 3:
        raise ConfigError(
            f"model.image_shape={image_shape} does not fit data of shape {input_shape}: rows need one, images have their own"
        )
    channels, height, width = input_shape
    return (channels, height, width), []
