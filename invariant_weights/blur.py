"""A Gaussian blur that limits the frequencies of filters before they are resampled.

Separable, truncated after four standard deviations, zero outside of the image: one banded matrix for rows and one for
columns, so that a bank of filters is blurred by two small matrix products, K_h W K_w^T.

# Paper: "0.1 sigma", without a unit. In pixels that changes nothing; in units of [-1, 1] it is 1.35 of MNIST's pixels.
"""

import torch
from torch import Tensor

from symlab.errors import ConfigError


def blur_matrix(size: int, pixels: float) -> Tensor:
    """K (size, size) in float32 for a standard deviation in pixels; 0 is the identity."""
    if pixels < 0:
        raise ConfigError(f"blur={pixels} does not fit: give a standard deviation of 0 or more pixels")
    if pixels == 0:
        return torch.eye(size)
    reach = max(1, int(4 * pixels + 0.5))
    offsets = torch.arange(-reach, reach + 1, dtype=torch.float64)
    kernel = torch.exp(-0.5 * (offsets / pixels).square())
    kernel = kernel / kernel.sum()
    place = torch.arange(size)
    distance = place[None] - place[:, None] + reach
    inside = (distance >= 0) & (distance <= 2 * reach)
    return torch.where(inside, kernel[distance.clamp(0, 2 * reach)], torch.zeros(())).float()


def blurred(filters: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Filters (H, C, h, w), matrices (h, h) and (w, w)."""
    return down.to(filters) @ filters @ across.to(filters).T
