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

from symlab.signatures import with_signature


def _padded(features: Tensor, kernel: Tensor) -> Tensor:
    """The map continued periodically by half a kernel, in the layout it has (nn.functional.pad would always lay it out
    anew)."""
    vertical, horizontal = kernel.shape[2] // 2, kernel.shape[3] // 2
    if not vertical and not horizontal:
        return features
    if features.stride(1) != 1:  # channels not side by side
        return nn.functional.pad(features, (horizontal, horizontal, vertical, vertical), mode="circular")
    pixels = features.permute(0, 2, 3, 1)
    height, width = pixels.shape[1:3]
    if vertical:
        pixels = torch.cat([pixels[:, height - vertical :], pixels, pixels[:, :vertical]], 1)
    if horizontal:
        pixels = torch.cat([pixels[:, :, width - horizontal :], pixels, pixels[:, :, :horizontal]], 2)
    return pixels.permute(0, 3, 1, 2)


def adjoint_kernel(kernel: Tensor) -> Tensor:
    """The kernel of the transposed map, in the memory layout of the kernel: a convolution takes its layout from there."""
    layout = torch.channels_last if kernel.stride(1) == 1 else torch.contiguous_format
    return kernel.flip(2, 3).transpose(0, 1).contiguous(memory_format=layout)


class _CircularConvolution(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
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
            in_features = _CircularConvolution.apply(gradient, adjoint_kernel(kernel))
        if ctx.needs_input_grad[1]:
            in_kernel = conv2d_weight(_padded(features, kernel), kernel.shape, gradient)
        return in_features, in_kernel


def circular_convolution(features: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """features (N, C, H, W), kernel (C', C, k, k) with k odd -> (N, C', H, W)."""
    convolved = _CircularConvolution.apply(features, kernel)
    return convolved if bias is None else convolved + bias[:, None, None]
