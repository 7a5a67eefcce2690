"""Likelihoods p(y | f) of a network's outputs f (N, C), with what curvature needs of them.

    Lambda(f) = - d^2 log p(y | f) / df^2 = R R^T,      R: (N, C, K)

Classification: Lambda = diag(p) - p p^T has rank C - 1. With s = sqrt(p), a unit vector, Lambda = diag(s) (I - s s^T)
diag(s). The Householder reflection Q = I - 2 v v^T / |v|^2, v = s + e_1, maps s to -e_1, so I - s s^T = Q (I - e_1 e_1^T)
Q and

    R = diag(s) Q[:, 1:],

exact with K = C - 1 columns and smooth in f (|v|^2 >= 1 never vanishes).

Regression: p(y | f) = N(y; f, sigma^2 I), Lambda = I / sigma^2 and K = C.
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError


class Likelihood(Protocol):
    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """sum_n log p(y_n | f_n), a scalar."""
        ...

    def hessian(self, outputs: Tensor) -> Tensor:
        """Lambda: (N, C, C)."""
        ...

    def hessian_root(self, outputs: Tensor) -> Tensor:
        """R with R R^T = Lambda: (N, C, K)."""
        ...

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """d log p(y | f) / df: (N, C)."""
        ...

    def sample(self, outputs: Tensor) -> Tensor:
        """Targets drawn from p(y | f)."""
        ...


class Classification:
    """Categorical with logits f; targets (N,) are class indices."""

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -nn.functional.cross_entropy(outputs, targets, reduction="sum")

    def hessian(self, outputs: Tensor) -> Tensor:
        probabilities = outputs.softmax(-1)
        return torch.diag_embed(probabilities) - probabilities[:, :, None] * probabilities[:, None, :]

    def hessian_root(self, outputs: Tensor) -> Tensor:
        # exp(log p / 2) instead of sqrt(p): its derivative stays finite when a probability underflows.
        root = (0.5 * outputs.log_softmax(-1)).exp()
        first = torch.zeros_like(root)
        first[:, 0] = 1
        normal = root + first
        reflection = torch.eye(root.shape[1], dtype=root.dtype, device=root.device) - (
            2 * normal[:, :, None] * normal[:, None, :] / normal.square().sum(-1)[:, None, None]
        )
        return root[:, :, None] * reflection[:, :, 1:]

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.one_hot(targets, outputs.shape[-1]).to(outputs.dtype) - outputs.softmax(-1)

    def sample(self, outputs: Tensor) -> Tensor:
        return torch.multinomial(outputs.softmax(-1), 1).squeeze(-1)


class Regression(nn.Module):
    """Gaussian with mean f and learnable noise sigma (``log_noise`` is its logarithm); targets (N, C), or (N,) where C is
    1."""

    def __init__(self, noise: float = 1.0):
        super().__init__()
        if not noise > 0:
            raise ConfigError(f"noise={noise} does not fit: a standard deviation above 0 is needed")
        self.log_noise = nn.Parameter(torch.tensor(math.log(noise), dtype=torch.float64))

    def noise(self, like: Tensor) -> Tensor:
        return self.log_noise.exp().to(like)

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        scaled = (targets.reshape(outputs.shape) - outputs) / self.noise(outputs)
        constant = outputs.numel() * (0.5 * math.log(2 * math.pi) + self.log_noise.to(outputs))
        return -0.5 * scaled.square().sum() - constant

    def hessian(self, outputs: Tensor) -> Tensor:
        identity = torch.eye(outputs.shape[1], dtype=outputs.dtype, device=outputs.device)
        return (identity / self.noise(outputs).square()).expand(len(outputs), -1, -1)

    def hessian_root(self, outputs: Tensor) -> Tensor:
        identity = torch.eye(outputs.shape[1], dtype=outputs.dtype, device=outputs.device)
        return (identity / self.noise(outputs)).expand(len(outputs), -1, -1)

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (targets.reshape(outputs.shape) - outputs) / self.noise(outputs).square()

    def sample(self, outputs: Tensor) -> Tensor:
        return outputs + self.noise(outputs) * torch.randn_like(outputs)
