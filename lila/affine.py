"""A learnable distribution over affine transformations of images (LILA Section 3.1, as in Augerino).

    x'(p) = x(M p),   M = exp( sum_i epsilon_i eta_i G_i ),   epsilon_i ~ U[-1, 1],   i = 1..6

with p the homogeneous position of a pixel; generators and coordinates are those of ``symlab.transformations.affine``, values
between pixels are bilinear and zero outside. The sign of eta does not matter, since epsilon is symmetric. Each image of each
copy has a draw of its own.
"""

import math

import torch
from torch import Tensor, nn

from lila.distribution import Distribution
from symlab.transformations.affine import GENERATORS, ROTATION, affine_maps, affine_reach, check_entries
from symlab.transformations.sampling import sample_images


class AffineDistribution(Distribution):
    """``initial`` eta; entries that are not ``learnable`` keep it. Both in the order of ``generators``."""

    generators = GENERATORS

    def __init__(self, initial: tuple[float, ...] = (0.0,) * 6, learnable: tuple[bool, ...] = (True,) * 6):
        super().__init__()
        check_entries("initial", initial)
        check_entries("learnable", learnable)
        self.eta = nn.Parameter(torch.tensor(initial, dtype=torch.float64))
        self.learnable: Tensor
        self.register_buffer("learnable", torch.tensor(learnable), persistent=False)

    def values(self) -> Tensor:
        return self.eta.detach().clone()

    def transform(self, inputs: Tensor, noise: Tensor) -> Tensor:
        """Images (N, C, H, W), noise (N or 1, S, 6) -> (N, S, C, H, W)."""
        return sample_images(inputs, self.maps(noise.to(inputs)))

    def maps(self, noise: Tensor) -> Tensor:
        """(..., 6) -> (..., 2, 3): where each pixel position of the output is taken from."""
        eta = torch.where(self.learnable, self.eta, self.eta.detach()).to(noise)
        return affine_maps(noise * eta)

    @torch.no_grad()
    def project(self) -> None:
        """Beyond +-pi a uniform distribution over rotations would cover some of them twice."""
        self.eta[ROTATION].clamp_(-math.pi, math.pi)

    def meanings(self, input_shape: tuple[int, ...]) -> dict[str, float]:
        return affine_reach(self.values(), input_shape)
