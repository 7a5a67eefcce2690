"""Where transformations are taken from the cube [-1, 1]^k of their noise (Section 3.4): epsilon (S, 6).

Generators that are not active keep epsilon = 0; without any active one there is a single copy, the weights themselves.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from symlab.errors import ConfigError


class Sampler(ABC):
    def noise(self, active: tuple[bool, ...], generator: torch.Generator) -> Tensor:
        """epsilon (S, len(active)) in float64, a function of the generator alone."""
        if not any(active):
            return torch.zeros(1, len(active), dtype=torch.float64)
        places = [index for index, is_active in enumerate(active) if is_active]
        values = self.sample(len(places), generator)
        noise = torch.zeros(len(values), len(active), dtype=torch.float64)
        noise[:, places] = values
        return noise

    @abstractmethod
    def sample(self, dimensions: int, generator: torch.Generator) -> Tensor:
        """(S, dimensions), every entry in [-1, 1]."""


class Stochastic(Sampler):
    """``samples`` independent uniform draws: an unbiased estimate of the average over transformations, Eqs. 6 and 7."""

    def __init__(self, samples: int = 32):
        if samples < 1:
            raise ConfigError(f"samples={samples} does not fit: a network is averaged over at least one transformation")
        self.samples = samples

    def sample(self, dimensions: int, generator: torch.Generator) -> Tensor:
        drawn = torch.rand(self.samples, dimensions, generator=generator, dtype=torch.float64, device=generator.device)
        return 2 * drawn.cpu() - 1


class Deterministic(Sampler):
    """``points`` linearly spaced ones along every active generator, all combinations of them: S = points^k.

    They are the midpoints of equal parts of [-1, 1]. With the ends among them, half a turn in either direction, which is the
    same rotation, would count twice at eta = pi; so the average over rotations by pi epsilon is strictly invariant to
    rotations by its own steps.
    """

    def __init__(self, points: int = 32):
        if points < 1:
            raise ConfigError(f"points={points} does not fit: at least one along every generator is needed")
        self.points = points

    def sample(self, dimensions: int, generator: torch.Generator) -> Tensor:
        along = (2 * torch.arange(self.points, dtype=torch.float64) + 1) / self.points - 1
        return torch.cartesian_prod(*[along] * dimensions).reshape(-1, dimensions)
