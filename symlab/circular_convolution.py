"""Convolution on a torus: circular padding, odd kernel, output as large as the input.

    y(c', q) = sum_{c, l} w(c', c, l) x(c, q + l),     positions q modulo the size of the map

Equal to nn.Conv2d(..., padding=k//2, padding_mode="circular"). The gradient in x is again such a convolution, with the
kernel flipped and its channels exchanged; torch instead differentiates through the padding, copying slices of the whole
map several times.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.grad import conv2d_weight


def _padded(features: Tensor, kernel: Tensor) -> Tensor:
    vertical, horizontal = kernel.shape[2] // 2, kernel.shape[3] // 2
    if not vertical and not horizontal:
        return features
    return nn.functional.pad(features, (horizontal, horizontal, vertical, vertical), mode="circular")


def _adjoint(kernel: Tensor) -> Tensor:
    """The kernel of the transposed map, in the memory layout of the kernel: a convolution takes its layout from there."""
    channels_last = kernel.is_contiguous(memory_format=torch.channels_last)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    return kernel.flip(2, 3).transpose(0, 1).contiguous(memory_format=layout)


class _CircularConvolution(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(features: Tensor, kernel: Tensor) -> Tensor:
        return nn.functional.conv2d(_padded(features, kernel), kernel)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        features, kernel = ctx.saved_tensors
        in_features = in_kernel = None
        if ctx.needs_input_grad[0]:
            in_features = _CircularConvolution.apply(gradient, _adjoint(kernel))
        if ctx.needs_input_grad[1]:
            in_kernel = conv2d_weight(_padded(features, kernel), kernel.shape, gradient)
        return in_features, in_kernel


def circular_convolution(features: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """features (N, C, H, W), kernel (C', C, k, k) with k odd -> (N, C', H, W)."""
    convolved = _CircularConvolution.apply(features, kernel)
    return convolved if bias is None else convolved + bias[:, None, None]
