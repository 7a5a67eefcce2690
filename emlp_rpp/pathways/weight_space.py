"""Linear layers whose dense weights form a subspace, and the projection onto it.

A weight space is a module y = W x + b between flattened features with (W, b) = T theta linear in its parameters and columns
of T that are orthogonal:

    T^T T = diag(m),     |W|^2 + |b|^2 = sum_j m_j theta_j^2,     Q Q^T = T diag(m)^-1 T^T

m_j, the multiplicity of theta_j, is the squared length of its column: for a convolution the number of positions where an
entry of the kernel is used. Parameters of multiplicity 0 are never used.

Layout: W (size_out, size_in), b (size_out,); features are flattened row by row.
"""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from symlab.errors import ConfigError


@runtime_checkable
class WeightSpace(Protocol):
    """What a module has to offer to become one path of a layer."""

    def __call__(self, x: Tensor) -> Tensor: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    def dense(self) -> tuple[Tensor, Tensor]:
        """W (size_out, size_in) and b (size_out,), differentiable in the parameters."""
        ...

    def multiplicities(self) -> dict[str, Tensor]:
        """m by the parameter's name; each can be broadcast to its parameter's shape."""
        ...


class _Dense(nn.Module):
    """``dense`` as a forward pass, so that it can be called with other parameters."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self) -> tuple[Tensor, Tensor]:
        return self.layer.dense()  # type: ignore[operator]


def project(layer: nn.Module, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest dense weights and biases within the layer's space, Q Q^T (W, b)."""
    nearest = nearest_parameters(layer, weight, bias)
    with torch.no_grad():
        return functional_call(_Dense(layer), {f"layer.{name}": value for name, value in nearest.items()}, ())


def nearest_parameters(layer: nn.Module, weight: Tensor, bias: Tensor) -> dict[str, Tensor]:
    """theta = diag(m)^-1 T^T (W, b), by name; T^T is the gradient of <(W, b), T theta> in theta."""
    parameters = dict(layer.named_parameters())
    with torch.enable_grad():
        own_weight, own_bias = layer.dense()  # type: ignore[operator]
        if own_weight.shape != weight.shape or own_bias.shape != bias.shape:
            raise ConfigError(
                f"weights {tuple(weight.shape)} and biases {tuple(bias.shape)} do not fit: the layer's are "
                f"{tuple(own_weight.shape)} and {tuple(own_bias.shape)}"
            )
        product = (own_weight * weight.detach()).sum() + (own_bias * bias.detach()).sum()
        found = torch.autograd.grad(product, list(parameters.values()), allow_unused=True)
    multiplicities = layer.multiplicities()  # type: ignore[operator]
    nearest = {}
    for (name, parameter), gradient in zip(parameters.items(), found):
        m = multiplicities[name].to(parameter)
        moved = torch.zeros_like(parameter) if gradient is None else gradient
        nearest[name] = torch.where(m > 0, moved / m.clamp(min=torch.finfo(m.dtype).tiny), 0.0)
    return nearest
