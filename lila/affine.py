"""A learnable distribution over affine transformations of images (LILA Section 3.1, as in Augerino).

    x'(p) = x(M p),   M = exp( sum_i epsilon_i eta_i G_i ),   epsilon_i ~ U[-1, 1],   i = 1..6

with p the homogeneous position of a pixel; coordinates run from -1 to 1 between the centres of the outermost pixels (x to
the right, y down), values between pixels are bilinear and zero outside. The generators act on p:

    translation_x   translation_y   rotation     scale_x     scale_y     shear
       [0 0 1]         [0 0 0]      [0 -1 0]     [1 0 0]     [0 0 0]     [0 1 0]
       [0 0 0]         [0 0 1]      [1  0 0]     [0 0 0]     [0 1 0]     [1 0 0]
       [0 0 0]         [0 0 0]      [0  0 0]     [0 0 0]     [0 0 0]     [0 0 0]

The sign of eta does not matter, since epsilon is symmetric. Each image of each copy has a draw of its own.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from lila.distribution import Distribution
from lila.exponential import affine_exponential
from symlab.errors import ConfigError

GENERATORS = ("translation_x", "translation_y", "rotation", "scale_x", "scale_y", "shear")
ROTATION = GENERATORS.index("rotation")


class AffineDistribution(Distribution):
    """``initial`` eta; entries that are not ``learnable`` keep it. Both in the order of ``generators``."""

    generators = GENERATORS

    def __init__(self, initial: tuple[float, ...] = (0.0,) * 6, learnable: tuple[bool, ...] = (True,) * 6):
        super().__init__()
        for key, given in (("initial", initial), ("learnable", learnable)):
            if len(given) != len(GENERATORS):
                raise ConfigError(
                    f"{key}={tuple(given)} does not fit: one entry for each of {', '.join(GENERATORS)} is needed"
                )
        self.eta = nn.Parameter(torch.tensor(initial, dtype=torch.float64))
        self.learnable: Tensor
        self.register_buffer("learnable", torch.tensor(learnable), persistent=False)

    def values(self) -> Tensor:
        return self.eta.detach().clone()

    def transform(self, inputs: Tensor, noise: Tensor) -> Tensor:
        """Images (N, C, H, W), noise (N or 1, S, 6) -> (N, S, C, H, W)."""
        count, channels, height, width = inputs.shape
        samples = noise.shape[1]
        maps = self.maps(noise.to(inputs))
        grid = sampling_grid(maps, height, width).flatten(1, 2)  # (N or 1, S H, W, 2): the grids of an image on one sheet
        sheets = functional.grid_sample(
            inputs, grid.expand(count, -1, -1, -1), mode="bilinear", padding_mode="zeros", align_corners=True
        )
        return sheets.view(count, channels, samples, height, width).transpose(1, 2)

    def maps(self, noise: Tensor) -> Tensor:
        """(..., 6) -> (..., 2, 3): where each pixel position of the output is taken from."""
        eta = torch.where(self.learnable, self.eta, self.eta.detach()).to(noise)
        tx, ty, rotation, scale_x, scale_y, shear = (noise * eta).unbind(-1)
        first, second = torch.stack([scale_x, shear - rotation], -1), torch.stack([shear + rotation, scale_y], -1)
        return affine_exponential(torch.stack([first, second], -2), torch.stack([tx, ty], -1))

    @torch.no_grad()
    def project(self) -> None:
        """Beyond +-pi a uniform distribution over rotations would cover some of them twice."""
        self.eta[ROTATION].clamp_(-math.pi, math.pi)

    def meanings(self, input_shape: tuple[int, ...]) -> dict[str, float]:
        """The reach of every generator: pixels, degrees, and percent of stretching (scales, and shear along diagonals)."""
        tx, ty, rotation, scale_x, scale_y, shear = self.values().abs().tolist()
        height, width = input_shape[-2:]
        return {
            "translation_x_pixels": tx * (width - 1) / 2,
            "translation_y_pixels": ty * (height - 1) / 2,
            "rotation_degrees": math.degrees(rotation),
            "scale_x_percent": 100 * math.expm1(scale_x),
            "scale_y_percent": 100 * math.expm1(scale_y),
            "shear_percent": 100 * math.expm1(shear),
        }


def sampling_grid(maps: Tensor, height: int, width: int) -> Tensor:
    """(N, S, 2, 3) -> (N, S, H, W, 2): the mapped positions of all pixels, as one broadcast sum of columns and rows."""
    across = torch.linspace(-1, 1, width, dtype=maps.dtype, device=maps.device)
    down = torch.linspace(-1, 1, height, dtype=maps.dtype, device=maps.device)
    columns = maps[:, :, None, :, 0] * across[:, None]  # (N, S, W, 2)
    rows = maps[:, :, None, :, 1] * down[:, None] + maps[:, :, None, :, 2]  # (N, S, H, 2)
    return columns[:, :, None] + rows[:, :, :, None]
