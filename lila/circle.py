"""The distribution of Fig. 1: rotations of points in the plane about the origin, angle = epsilon eta, epsilon ~ U[-1, 1]."""

import math

import torch
from torch import Tensor, nn

from lila.distribution import Distribution


class RotationDistribution(Distribution):
    """``initial`` is the largest angle to start from, in radians."""

    generators = ("rotation",)

    def __init__(self, initial: float = 0.0):
        super().__init__()
        self.eta = nn.Parameter(torch.tensor([initial], dtype=torch.float64))

    def values(self) -> Tensor:
        return self.eta.detach().clone()

    def transform(self, inputs: Tensor, noise: Tensor) -> Tensor:
        """Points (N, 2), noise (N or 1, S, 1) -> (N, S, 2)."""
        angle = (noise * self.eta.to(noise)).squeeze(-1).to(inputs)
        cosine, sine = angle.cos(), angle.sin()
        x, y = inputs[:, None].unbind(-1)
        return torch.stack([cosine * x - sine * y, sine * x + cosine * y], -1)

    @torch.no_grad()
    def project(self) -> None:
        self.eta.clamp_(-math.pi, math.pi)

    def meanings(self, input_shape: tuple[int, ...]) -> dict[str, float]:
        return {"rotation_degrees": math.degrees(self.eta.abs().item())}
