r"""The papers' variants of an image data set: one transformation per image, drawn from a seed and then fixed.

A variant first draws the parameters of every image, then is applied to the images that are wanted, so that an image gets
the same transformation whatever subset it is part of.

Affine maps act on the image plane around the centre, x to the right and y down, in the order of Table 8 of "Learning
invariant weights": rotation R by :math:`\theta` (counter-clockwise on the screen), then translation T by whole pixels, then
scaling S by :math:`e^s`. Output pixel :math:`p` takes the bilinearly interpolated value of input position
:math:`R^{-1} T^{-1} S^{-1} p`, zero outside: one resampling, also for pairs.
"""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from symlab.errors import DataError

_CHUNK = 2000


class Variant(Protocol):
    """Parameters are a float tensor ``(N, P)``, one row an image."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Parameters of ``count`` images."""

    def relabel(self, targets: Tensor, parameters: Tensor, n_classes: int) -> tuple[Tensor, int]:
        """Targets ``(N,)`` and number of classes of the new task."""

    def transform(self, images: Tensor, parameters: Tensor) -> Tensor:
        """``uint8 (N, C, H, W)`` -> ``uint8 (N, C, H', W')``."""


@dataclass(frozen=True)
class Unchanged:
    """The images as published."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """``(N, 0)``: there is nothing to choose."""
        return torch.empty(count, 0)

    def relabel(self, targets: Tensor, parameters: Tensor, n_classes: int) -> tuple[Tensor, int]:
        return targets, n_classes

    def transform(self, images: Tensor, parameters: Tensor) -> Tensor:
        return images


@dataclass(frozen=True)
class Affine:
    """Rotation by U(-max_degrees, max_degrees), translation by whole pixels in -max_pixels..max_pixels along each axis, and
    isotropic scaling by exp(U(-log max_scale, log max_scale))."""

    max_degrees: float = 0.0
    max_pixels: int = 0
    max_scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.max_degrees <= 180:
            raise DataError(f"data.variant.max_degrees is {self.max_degrees}: give a value from 0 to 180")
        if self.max_pixels < 0:
            raise DataError(f"data.variant.max_pixels is {self.max_pixels}: give 0 or more whole pixels")
        if self.max_scale < 1:
            raise DataError(f"data.variant.max_scale is {self.max_scale}: give 1 or more")

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """``(N, 4)``: angle in radians, dx, dy in pixels, log scale."""
        angle, log_scale = (2 * torch.rand(2, count, generator=generator, dtype=torch.float64) - 1).unbind()
        shift = torch.randint(-self.max_pixels, self.max_pixels + 1, (2, count), generator=generator)
        return torch.stack(
            [angle * math.radians(self.max_degrees), shift[0], shift[1], log_scale * math.log(self.max_scale)], dim=1
        )

    def relabel(self, targets: Tensor, parameters: Tensor, n_classes: int) -> tuple[Tensor, int]:
        return targets, n_classes

    def transform(self, images: Tensor, parameters: Tensor) -> Tensor:
        if not len(images):
            return images
        height, width = images.shape[-2:]
        maps = output_to_input(parameters, height, width).float()
        chunks = [_resample(image, matrix) for image, matrix in zip(images.split(_CHUNK), maps.split(_CHUNK), strict=True)]
        return torch.cat(chunks)


def output_to_input(parameters: Tensor, height: int, width: int) -> Tensor:
    """``(N, 4)`` parameters -> ``(N, 2, 3)`` maps from output to input positions, in grid_sample's [-1, 1] coordinates."""
    angle, dx, dy, log_scale = parameters.unbind(dim=1)
    cos, sin, shrink = angle.cos(), angle.sin(), (-log_scale).exp()
    # On a screen y points down, so counter-clockwise by the angle is [[cos, sin], [-sin, cos]]; this is its inverse.
    inverse_rotation = torch.stack([torch.stack([cos, -sin], dim=1), torch.stack([sin, cos], dim=1)], dim=1)
    linear = inverse_rotation * shrink[:, None, None]
    offset = -torch.einsum("nij,nj->ni", inverse_rotation, torch.stack([dx, dy], dim=1))
    half = torch.tensor([width / 2, height / 2], dtype=parameters.dtype)  # pixels per unit of the normalised coordinates
    return torch.cat([linear * half[None, None, :] / half[None, :, None], (offset / half).unsqueeze(2)], dim=2)


def _resample(images: Tensor, maps: Tensor) -> Tensor:
    grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
    values = functional.grid_sample(images.float(), grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return values.round_().clamp_(0, 255).to(torch.uint8)


@dataclass(frozen=True)
class Quadrants:
    """Section 6.1 of ELLA: the image lies in a random quadrant of a canvas twice as large.

    Quadrants count row by row from the top left. ``digit``: the label stays (10 classes). ``digit_and_quadrant``: label +
    10 * quadrant (40 classes).
    """

    labels: Literal["digit", "digit_and_quadrant"] = "digit"

    def __post_init__(self) -> None:
        if self.labels not in ("digit", "digit_and_quadrant"):
            raise DataError(f"data.variant.labels is {self.labels!r}: give 'digit' or 'digit_and_quadrant'")

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """``(N, 1)``: the quadrant, 0 to 3."""
        return torch.randint(4, (count, 1), generator=generator)

    def relabel(self, targets: Tensor, parameters: Tensor, n_classes: int) -> tuple[Tensor, int]:
        if self.labels == "digit":
            return targets, n_classes
        return targets + n_classes * parameters[:, 0], 4 * n_classes

    def transform(self, images: Tensor, parameters: Tensor) -> Tensor:
        count, channels, height, width = images.shape
        canvas = images.new_zeros(count, channels, 2, height, 2, width)
        quadrant = parameters[:, 0]
        # Two index tensors around a slice: torch moves the image axis to the front, (N, C, H, W).
        canvas[torch.arange(count), :, quadrant // 2, :, quadrant % 2] = images
        return canvas.view(count, channels, 2 * height, 2 * width)
