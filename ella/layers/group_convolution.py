"""GCONV: roto-translation equivariant maps on Z^2 x p4, ELLA App. A and F.3.

Feature maps have four copies, one for each rotation r by 90 degrees: (B, 4 c, x, x), copy by copy, all in the frame of the
image. A rotation rho of the image turns the maps and moves the copies on, X_r -> rho X_(r-1). With frames f_r = rho^-r X_r
(each copy as seen by someone who turned along) a group convolution uses the same filters in every frame:

    full                  Y_r = rho^r ( sum_s theta(c', c, s) * rho^-r X_(r+s) )
    separable             Z_r = rho^r ( theta1(c) * f_r ),   Y_r = sum_s theta2(c', c, s) Z_(r+s)
    depthwise separable   Z_r as above,   Y_r = theta3(c', c) sum_s theta2(c, s) Z_(r+s)
    pointwise             Y_r = rho^r ( theta(c', c) * f_r )

with * the circular convolution of Eq. 3. Pointwise is separable with the indicator of the identity as theta2.

KFAC: frames are folded into the batch, sample by sample, so every data point has four copies, over which inputs are averaged
and output gradients summed (``symlab.kfac.layers.per_data_point``, as LILA does over augmentations).

# Paper: F.3 prints theta1(c', c, x, y) theta2(c', c, theta) for the separable form. Table 7's parameter counts (214550,
# 358463) are those of one spatial filter per input channel with a bias, and the count of the depthwise separable form at
# alpha 16 (346215) has theta1 and theta2 per input channel, each with a bias. At alpha 10 the latter gives 139725 where
# 139735 is printed.
"""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from ella.layers.subsampled import Subsampled
from symlab.errors import ConfigError
from symlab.groups import C4, act, inverse
from symlab.models.circular import CircularConvolution
from symlab.models.initialisation import preserve_variance

ROTATIONS = len(C4)


def lift(images: Tensor) -> Tensor:
    """(B, c, x, x) -> (B, 4 c, x, x): a map on the plane is the same in all copies."""
    return images.repeat(1, ROTATIONS, 1, 1)


def strongest_rotation(features: Tensor) -> Tensor:
    """(B, 4 c, ...) -> (B, c, ...): the maximum over the group, invariant to which copy is which."""
    return features.unflatten(1, (ROTATIONS, -1)).amax(1)


def to_frames(features: Tensor) -> Tensor:
    """(B, 4 c, x, x) -> (4 B, c, x, x): every copy turned to its own frame, sample by sample."""
    copies = features.unflatten(1, (ROTATIONS, -1))
    turned = [act(inverse(element), copies[:, copy]) for copy, element in enumerate(C4.elements)]
    return torch.stack(turned, 1).flatten(0, 1)


def from_frames(frames: Tensor) -> Tensor:
    """(4 B, c, x, x) -> (B, 4 c, x, x): the inverse of ``to_frames``."""
    copies = frames.unflatten(0, (-1, ROTATIONS))
    turned = [act(element, copies[:, copy]) for copy, element in enumerate(C4.elements)]
    return torch.stack(turned, 1).flatten(1, 2)


def neighbours(features: Tensor) -> Tensor:
    """(B, 4 c, x, x) -> (B, 4, 4, c, x, x): at [r, s] copy r + s, in the frame of the image."""
    copies = features.unflatten(1, (ROTATIONS, -1))
    return torch.stack([copies.roll(-turn, 1) for turn in range(ROTATIONS)], 1)


def neighbours_in_frames(features: Tensor) -> Tensor:
    """(B, 4 c, x, x) -> (4 B, 4 c, x, x): for each r, the copies r + s in order of s, turned to the frame of r."""
    around = neighbours(features)
    turned = [act(inverse(element), around[:, copy]) for copy, element in enumerate(C4.elements)]
    return torch.stack(turned, 1).flatten(0, 1).flatten(1, 2)


class RotationConvolution(Subsampled):
    """What the forms share: their sizes count all copies, as those of the other layers do."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int):
        super().__init__(extent_in, extent_out)
        if channels_in % ROTATIONS or channels_out % ROTATIONS:
            raise ConfigError(
                f"a group convolution needs {ROTATIONS} copies of its channels, got {channels_in} -> {channels_out}: use "
                "ella.network.RotationNetwork, which lifts its input"
            )
        self.channels_in, self.channels_out = channels_in // ROTATIONS, channels_out // ROTATIONS

    @property
    @abstractmethod
    def last(self) -> nn.Conv2d:
        """The convolution whose weight scales the map."""

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        """Multiply the map (without its offset) by a factor."""
        self.last.weight.mul_(factor)


class GroupConvolution(RotationConvolution):
    """Full: theta (c', 4 c, k, k)."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int, kernel_size: int = 3):
        super().__init__(channels_in, channels_out, extent_in, extent_out)
        self.convolution = CircularConvolution(ROTATIONS * self.channels_in, self.channels_out, kernel_size)
        preserve_variance(self.convolution)

    @property
    def last(self) -> nn.Conv2d:
        return self.convolution

    def convolve(self, features: Tensor) -> Tensor:
        return from_frames(self.convolution(neighbours_in_frames(features)))


class PointwiseGroupConvolution(RotationConvolution):
    """theta (c', c, k, k), the same as a convolution's, in each frame."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int, kernel_size: int = 3):
        super().__init__(channels_in, channels_out, extent_in, extent_out)
        self.convolution = CircularConvolution(self.channels_in, self.channels_out, kernel_size)
        preserve_variance(self.convolution)

    @property
    def last(self) -> nn.Conv2d:
        return self.convolution

    def convolve(self, features: Tensor) -> Tensor:
        return from_frames(self.convolution(to_frames(features)))


class SeparableGroupConvolution(RotationConvolution):
    """theta1 (c, k, k) in each frame, then theta2 (c', 4 c) over the copies."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int, kernel_size: int = 3):
        super().__init__(channels_in, channels_out, extent_in, extent_out)
        self.spatial = _each_channel(self.channels_in, kernel_size)
        self.rotational = nn.Conv2d(ROTATIONS * self.channels_in, self.channels_out, 1)
        preserve_variance(self.rotational)

    @property
    def last(self) -> nn.Conv2d:
        return self.rotational

    def convolve(self, features: Tensor) -> Tensor:
        spatial = from_frames(self.spatial(to_frames(features)))
        mixed = self.rotational(neighbours(spatial).flatten(0, 1).flatten(1, 2))
        return mixed.unflatten(0, (-1, ROTATIONS)).flatten(1, 2)


class DepthwiseSeparableGroupConvolution(RotationConvolution):
    """theta1 (c, k, k) in each frame, theta2 (c, 4) over the copies, theta3 (c', c) over the channels."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int, kernel_size: int = 3):
        super().__init__(channels_in, channels_out, extent_in, extent_out)
        self.spatial = _each_channel(self.channels_in, kernel_size)
        self.rotational = nn.Conv2d(ROTATIONS * self.channels_in, self.channels_in, 1, groups=self.channels_in)
        self.channelwise = nn.Conv2d(self.channels_in, self.channels_out, 1)
        preserve_variance(self.rotational, gain=1.0)
        preserve_variance(self.channelwise)

    @property
    def last(self) -> nn.Conv2d:
        return self.channelwise

    def convolve(self, features: Tensor) -> Tensor:
        spatial = from_frames(self.spatial(to_frames(features)))
        by_channel = neighbours(spatial).flatten(0, 1).transpose(1, 2).flatten(1, 2)  # (4 B, c 4, x, x)
        mixed = self.channelwise(self.rotational(by_channel))
        return mixed.unflatten(0, (-1, ROTATIONS)).flatten(1, 2)


def _each_channel(channels: int, kernel_size: int) -> nn.Conv2d:
    layer = nn.Conv2d(channels, channels, kernel_size, padding=kernel_size // 2, padding_mode="circular", groups=channels)
    preserve_variance(layer, gain=1.0)
    return layer
