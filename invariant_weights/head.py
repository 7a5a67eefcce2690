r"""The output layer W_2 (C, H): a Gaussian over its weights, or a point (Section 3.7, App. A).

Each class c has weights w_c ~ q = N(mu_c, Sigma_c), a full covariance Sigma_c = L_c^T L_c with L_c lower triangular, and the
prior N(0, I). A sample is w_c = mu_c + L_c^T epsilon, epsilon ~ N(0, I), and

    KL(q || p) = 1/2 sum_c ( -log |Sigma_c| - H + tr Sigma_c + |mu_c|^2 ),      log |Sigma_c| = 2 sum_i log |L_c,ii|

Only entries on and below the diagonal of L are ever different from zero. With g_c the gradient that reaches a sample and
kappa the one that reaches the KL, the gradient of L_c is

    tril( epsilon g_c^T ) + kappa ( L_c - diag(1 / L_c,ii) )

which is written down once, instead of being gathered from the graphs of a masked matrix, a determinant and a trace: the
factors are by far the largest tensors of the network, and one pass over each of them is what a step costs.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from symlab.errors import ConfigError


class Head(nn.Module, ABC):
    mean: nn.Parameter

    @abstractmethod
    def sample(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Weights (draws, C, H) and KL(q || p), both differentiable."""

    @abstractmethod
    def weights(self) -> Tensor:
        """(C, H): the mean."""


class GaussianHead(Head):
    """mu_c = 0 and L_c = ``initial_scale`` I to start from. One factor a class is one parameter: tensors of a size that the
    allocator gives out again without asking the system for fresh memory at each step."""

    def __init__(self, features: int, n_outputs: int, initial_scale: float = 1.0):
        super().__init__()
        if not initial_scale > 0:
            raise ConfigError(f"initial_scale={initial_scale} does not fit: a covariance needs a positive scale")
        self.mean = nn.Parameter(torch.zeros(n_outputs, features))
        self.factors = nn.ParameterList(initial_scale * torch.eye(features) for _ in range(n_outputs))

    def sample(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        shape = (draws, *self.mean.shape)
        noise = torch.randn(shape, generator=generator, dtype=self.mean.dtype, device=generator.device).to(self.mean.device)
        return _SampleWithDivergence.apply(noise, self.mean, *self.factors)

    def weights(self) -> Tensor:
        return self.mean

    def divergence(self) -> Tensor:
        """KL(q || p), without a graph."""
        with torch.no_grad():
            return _divergence(self.mean, list(self.factors))

    def covariance(self) -> Tensor:
        """Sigma (C, H, H)."""
        return torch.stack([factor.T @ factor for factor in self.factors])


class PointHead(Head):
    """Maximum likelihood: one matrix W_2, drawn with variance 1 / H to start from, and no divergence (Section 4.1)."""

    def __init__(self, features: int, n_outputs: int):
        super().__init__()
        self.mean = nn.Parameter(torch.randn(n_outputs, features) / features**0.5)

    def sample(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        return self.mean[None], self.mean.new_zeros(())

    def weights(self) -> Tensor:
        return self.mean


def _divergence(mean: Tensor, factors: list[Tensor]) -> Tensor:
    total = mean.square().sum() - mean.numel()
    for factor in factors:
        flat = factor.flatten()
        total = total + torch.dot(flat, flat) - 2 * factor.diagonal().abs().log().sum()
    return 0.5 * total


class _SampleWithDivergence(torch.autograd.Function):
    """noise (D, C, H), mu (C, H), L_1..L_C (H, H) -> weights (D, C, H), KL ()."""

    @staticmethod
    def forward(ctx: Any, noise: Tensor, mean: Tensor, *factors: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(noise, mean, *factors)
        spread = torch.stack([noise[:, index] @ factor for index, factor in enumerate(factors)], 1)
        return mean + spread, _divergence(mean, list(factors))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, arrived: Tensor, arrived_at_divergence: Tensor) -> tuple[Tensor | None, ...]:
        noise, mean, *factors = ctx.saved_tensors
        kappa = arrived_at_divergence.item()
        gradients = []
        for index, factor in enumerate(factors):
            gradient = torch.addmm(factor, noise[:, index].T, arrived[:, index], beta=kappa).tril_()
            gradient.diagonal().sub_(kappa / factor.diagonal())
            gradients.append(gradient)
        return None, arrived.sum(0) + kappa * mean, *gradients
