"""The layers that ``benchmarks.bench_equinas`` measures, 128 -> 128 channels of a standard convolution each."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from equinas.convolution import SymmetricConvolution
from equinas.expansion import KernelShape, expand
from equinas.mixed import MixedConvolution
from symlab.groups import D4, GROUPS

CHANNELS, BATCH, EXTENT = 128, 16, 28


class ApartConvolution(nn.Module):
    """Eq. 10 to the letter: one convolution for each group, then the weighted sum."""

    def __init__(self, mixed: MixedConvolution):
        super().__init__()
        self.mixed = mixed

    def forward(self, features: Tensor) -> Tensor:
        padding, kernels = self.mixed.kernel_size // 2, self.mixed.kernels
        apart = [nn.functional.conv2d(features, kernel(), padding=padding) for kernel in kernels]
        return torch.stack([weight * part for weight, part in zip(self.mixed.weights(), apart, strict=True)]).sum(0)


def layers(kernel_size: int) -> dict[str, nn.Module]:
    shape = KernelShape.regular(D4, CHANNELS, CHANNELS, kernel_size)
    mixed = MixedConvolution(shape, GROUPS)
    return {
        "plain": nn.Conv2d(CHANNELS, CHANNELS, kernel_size, padding=kernel_size // 2, bias=False),
        "group": SymmetricConvolution(shape),
        "mixed": mixed,
        "apart": ApartConvolution(mixed),
    }


def pass_through(layer: nn.Module) -> Callable[[], None]:
    """Forward and backward, to the input as well, as inside a network."""
    features = torch.randn(BATCH, CHANNELS, EXTENT, EXTENT, requires_grad=True)
    gradient = torch.randn(BATCH, CHANNELS, EXTENT, EXTENT)

    def run() -> None:
        layer.zero_grad(set_to_none=True)
        features.grad = None
        layer(features).backward(gradient)

    return run


def expansion(kernel_size: int) -> Callable[[], None]:
    """The gather of one D4 kernel with its gradient."""
    shape = KernelShape.regular(D4, CHANNELS, CHANNELS, kernel_size)
    weight = torch.randn(shape.weight, requires_grad=True)
    gradient = torch.randn(shape.expanded)

    def run() -> None:
        weight.grad = None
        expand(weight, shape).backward(gradient)

    return run
