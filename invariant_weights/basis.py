"""The two kinds of first layer (Sections 3.1 and 4.4): filters W_1 (H, *input_shape), biases (H,) and a nonlinearity.

    Fourier    alpha sqrt(2 / H) cos(<w, x> + b),  w ~ N(0, sigma^2 I),  b ~ U[0, 2 pi]:  fixed random features whose network
               tends to a Gaussian process with the kernel alpha^2 exp(-sigma^2 |x - x'|^2 / 2) in the limit of many units
    ReLU       alpha max(0, <w, x> + b),  w of Xavier's variance, b = 0 to start from, both learnt

# Paper: sigma = 0.3 is not explained; as the spread of frequencies it is a length scale of 3.3, as a length scale the kernel
# of 784 pixels would vanish. That features carry sqrt(2 / H) is our reading of "as close as possible to a GP".
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from symlab.errors import ConfigError


class Basis(nn.Module, ABC):
    filters: Tensor
    bias: Tensor
    amplitude: float  # every feature is multiplied with it

    def __init__(self, units: int):
        super().__init__()
        if units < 1:
            raise ConfigError(f"units={units} does not fit: give at least one")
        self.units = units

    @abstractmethod
    def average(self, products: Tensor) -> Tensor:
        """Products (H, S, B) -> the mean over S of the nonlinearity of products and biases, (H, B).

        Overwrites the products: these are the largest tensors of a step, and every pass over them that is saved counts.
        """


class _MeanCosine(torch.autograd.Function):
    """Products (H, S, B), which are overwritten, and biases (H,) -> (H, B); biases have no gradient."""

    @staticmethod
    def forward(ctx: Any, products: Tensor, bias: Tensor) -> Tensor:
        angles = products.add_(bias[:, None, None])
        ctx.save_for_backward(angles)
        return angles.cos().mean(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, arrived: Tensor) -> tuple[Tensor, None]:
        (angles,) = ctx.saved_tensors
        return angles.sin().mul_((arrived / -angles.shape[1])[:, None]), None


class _MeanReLU(torch.autograd.Function):
    """Products (H, S, B), which are overwritten, and biases (H,) -> (H, B)."""

    @staticmethod
    def forward(ctx: Any, products: Tensor, bias: Tensor) -> Tensor:
        active = products.add_(bias[:, None, None]).relu_()
        ctx.save_for_backward(active)
        return active.mean(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, arrived: Tensor) -> tuple[Tensor, Tensor]:
        (active,) = ctx.saved_tensors
        gradient = active.sign().mul_((arrived / active.shape[1])[:, None])
        return gradient, gradient.sum((1, 2))


class FourierBasis(Basis):
    def __init__(
        self, input_shape: tuple[int, ...], units: int = 1024, frequency_scale: float = 0.3, amplitude: float = 1.0
    ):
        super().__init__(units)
        self.register_buffer("filters", frequency_scale * torch.randn(units, *input_shape))
        self.register_buffer("bias", 2 * math.pi * torch.rand(units))
        self.amplitude = amplitude * math.sqrt(2 / units)

    def average(self, products: Tensor) -> Tensor:
        return _MeanCosine.apply(products, self.bias)


class ReLUBasis(Basis):
    def __init__(self, input_shape: tuple[int, ...], units: int = 1024, amplitude: float = 1.0):
        super().__init__(units)
        self.amplitude = amplitude
        filters = torch.empty(units, math.prod(input_shape))
        nn.init.xavier_uniform_(filters)
        self.filters = nn.Parameter(filters.view(units, *input_shape))
        self.bias = nn.Parameter(torch.zeros(units))

    def average(self, products: Tensor) -> Tensor:
        return _MeanReLU.apply(products, self.bias)
