"""What a learnable distribution over transformations is, and the one that leaves inputs alone.

A distribution has parameters eta (G,), one for each generator of its transformations. Reparameterised (Eq. 1), a transformed
input is x' = g(x, epsilon; eta) with epsilon ~ U[-1, 1]^G, drawn apart from eta: gradients in eta flow through g.

    noise    epsilon (N, S, G)    S draws for each of N inputs, or (1, S, G): the same S draws for all of them
    copies   x'      (N, S, ...)  of inputs (N, ...)
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Distribution(nn.Module, ABC):
    """``generators`` names the entries of eta; the module's parameters, if any, are what is learnt."""

    generators: tuple[str, ...] = ()

    @abstractmethod
    def values(self) -> Tensor:
        """eta (G,), a copy without a graph."""

    @abstractmethod
    def transform(self, inputs: Tensor, noise: Tensor) -> Tensor:
        """Inputs (N, ...) and noise (N or 1, S, G) -> copies (N, S, ...), differentiable in eta."""

    @abstractmethod
    def project(self) -> None:
        """Bring eta back to where the distribution is defined, in place."""

    @abstractmethod
    def meanings(self, input_shape: tuple[int, ...]) -> dict[str, float]:
        """What eta reaches on inputs of this shape, in units that a person reads."""

    def noise(self, count: int, samples: int, generator: torch.Generator) -> Tensor:
        """(count, samples, G) from U[-1, 1] in float64, a function of the generator alone."""
        shape = (count, samples, len(self.generators))
        return 2 * torch.rand(shape, generator=generator, dtype=torch.float64, device=generator.device) - 1

    def describe(self, input_shape: tuple[int, ...]) -> dict[str, float]:
        """For logs: ``eta/<generator>`` and ``invariance/<what it means>``."""
        entries = {f"eta/{name}": value for name, value in zip(self.generators, self.values().tolist(), strict=True)}
        return entries | {f"invariance/{name}": value for name, value in self.meanings(input_shape).items()}


class Unchanged(Distribution):
    """The distribution of a network without invariances: every copy is the input itself, and there is nothing to learn."""

    def values(self) -> Tensor:
        return torch.zeros(0)

    def transform(self, inputs: Tensor, noise: Tensor) -> Tensor:
        return inputs[:, None].expand(-1, noise.shape[1], *inputs.shape[1:])

    def project(self) -> None:
        """Nothing to bring back."""

    def meanings(self, input_shape: tuple[int, ...]) -> dict[str, float]:
        return {}
