"""Affine maps of the image plane from coefficients of their generators.

    M = exp( sum_i c_i G_i ),   i = 1..6

acts on homogeneous positions p; coordinates run from -1 to 1 between the centres of the outermost pixels (x to the right, y
down). The generators:

    translation_x   translation_y   rotation     scale_x     scale_y     shear
       [0 0 1]         [0 0 0]      [0 -1 0]     [1 0 0]     [0 0 0]     [0 1 0]
       [0 0 0]         [0 0 1]      [1  0 0]     [0 0 0]     [0 1 0]     [1 0 0]
       [0 0 0]         [0 0 0]      [0  0 0]     [0 0 0]     [0 0 0]     [0 0 0]
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from symlab.errors import ConfigError
from symlab.transformations.exponential import affine_exponential

GENERATORS = ("translation_x", "translation_y", "rotation", "scale_x", "scale_y", "shear")
ROTATION = GENERATORS.index("rotation")


def check_entries(key: str, given: Sequence[object]) -> None:
    """Refuse settings that do not have one entry for each generator."""
    if len(given) != len(GENERATORS):
        raise ConfigError(f"{key}={tuple(given)} does not fit: one entry for each of {', '.join(GENERATORS)} is needed")


def affine_maps(coefficients: Tensor) -> Tensor:
    """Coefficients (..., 6) -> the first two rows of M, (..., 2, 3): where a position of the output is taken from."""
    tx, ty, rotation, scale_x, scale_y, shear = coefficients.unbind(-1)
    first, second = torch.stack([scale_x, shear - rotation], -1), torch.stack([shear + rotation, scale_y], -1)
    return affine_exponential(torch.stack([first, second], -2), torch.stack([tx, ty], -1))


def sampling_grid(maps: Tensor, height: int, width: int) -> Tensor:
    """(..., 2, 3) -> (..., H, W, 2): the mapped positions of all pixels, as one broadcast sum of columns and rows."""
    across = torch.linspace(-1, 1, width, dtype=maps.dtype, device=maps.device)
    down = torch.linspace(-1, 1, height, dtype=maps.dtype, device=maps.device)
    columns = maps[..., None, :, 0] * across[:, None]  # (..., W, 2)
    rows = maps[..., None, :, 1] * down[:, None] + maps[..., None, :, 2]  # (..., H, 2)
    return columns[..., None, :, :] + rows[..., :, None, :]


def affine_reach(coefficients: Tensor, input_shape: tuple[int, ...]) -> dict[str, float]:
    """The reach of every generator: pixels, degrees, and percent of stretching (scales, and shear along diagonals).

    Coefficients (6,); their signs do not matter. Inputs are images (..., H, W).
    """
    tx, ty, rotation, scale_x, scale_y, shear = coefficients.abs().tolist()
    height, width = input_shape[-2:]
    return {
        "translation_x_pixels": tx * (width - 1) / 2,
        "translation_y_pixels": ty * (height - 1) / 2,
        "rotation_degrees": math.degrees(rotation),
        "scale_x_percent": 100 * math.expm1(scale_x),
        "scale_y_percent": 100 * math.expm1(scale_y),
        "shear_percent": 100 * math.expm1(shear),
    }
