"""Residual pathway priors: a layer W = A + B of constrained weights A and free weights B (thesis, section 3.4).

    A ~ N(0, sigma_a^2 Q Q^T),   B ~ N(0, sigma_b^2 I)
    A + B ~ N(0, (sigma_a^2 + sigma_b^2) Q Q^T + sigma_b^2 P P^T)       (3.1)

The columns of Q are an orthonormal basis of the constrained weights, those of P of all others. Up to a constant,

    -log p(A, B) = |A|^2 / (2 sigma_a^2) + |B|^2 / (2 sigma_b^2),

Frobenius norms of the weights as dense matrices: what is added to the loss, a weight decay of 1 / (2 sigma^2) on each path.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError


@dataclass(frozen=True)
class PathwayPrior:
    """``equivariant_variance`` is sigma_a^2, ``residual_variance`` sigma_b^2; a path of variance 0 is left out, so without
    the residual one a network is constrained, without the equivariant one it is free. ``residual_rate``: the learning
    rate of B where A is beside it, in units of A's.

    # Paper: one learning rate. A step of Adam has the length of its rate however small the gradient is, in each of the many
    # entries of B; at A's rate they drown the equivariant path in noise.
    """

    equivariant_variance: float = 1e5
    residual_variance: float = 1.0
    residual_rate: float = 0.1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (value >= 0 and math.isfinite(value)):
                raise ConfigError(f"prior.{name}={value} does not fit: variances and rates are finite numbers from 0 on")
        if not self.equivariant_variance and not self.residual_variance:
            raise ConfigError("prior: both variances are 0, so no path is left: make one of them positive")

    @property
    def has_equivariant(self) -> bool:
        return self.equivariant_variance > 0

    @property
    def has_residual(self) -> bool:
        return self.residual_variance > 0

    def covariance(self, basis: Tensor) -> Tensor:
        """Of A + B, (k, k), by Eq. 3.1, from an orthonormal basis Q (k, r); for small layers."""
        inside = basis @ basis.mT
        outside = torch.eye(len(basis), dtype=basis.dtype, device=basis.device) - inside
        both = self.equivariant_variance + self.residual_variance
        return both * inside + self.residual_variance * outside


def negative_log_prior(module: nn.Module) -> Tensor:
    """-log p of all its pathways, up to a constant: to be added to the loss. An error where there is none.

    Modules say it of their own parameters in a method ``negative_log_prior()``."""
    found = (getattr(part, "negative_log_prior", None) for part in module.modules())
    terms = [of_part() for of_part in found if of_part is not None]
    if not terms:
        raise ConfigError(f"{type(module).__name__} has no residual pathway, so no prior: build it with emlp_rpp.pathways")
    return torch.stack(terms).sum()


def has_prior(module: nn.Module) -> bool:
    """Whether a pathway is among its modules."""
    return any(hasattr(part, "negative_log_prior") for part in module.modules())
