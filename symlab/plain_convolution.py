"""Convolution with zeros around the map and a stride of one, differentiable in its features only.

    y(c', q) = sum_{c, l} w(c', c, l) x(c, q + l - p),      x = 0 outside of the map,  0 <= p < k

Equal to nn.Conv2d(..., padding=p) with fixed weights. The gradient in x is again such a convolution, with the kernel
flipped, its channels exchanged and padding k - 1 - p; and so is the gradient of that. torch's own double backward also
computes gradients of the weights, whether or not they are asked for.
"""

from typing import Any

import torch
from torch import Tensor, nn

from symlab.circular_convolution import adjoint_kernel

Padding = tuple[int, int]


class _PlainConvolution(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(features: Tensor, kernel: Tensor, padding: Padding) -> Tensor:
        return nn.functional.conv2d(features, kernel, padding=padding)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Padding], output: Tensor) -> None:
        _, kernel, ctx.padding = inputs
        ctx.save_for_backward(kernel)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        if not ctx.needs_input_grad[0]:
            return None, None, None
        (kernel,) = ctx.saved_tensors
        height, width = kernel.shape[2:]
        padding = (height - 1 - ctx.padding[0], width - 1 - ctx.padding[1])
        return _PlainConvolution.apply(gradient, adjoint_kernel(kernel), padding), None, None


def plain_convolution(features: Tensor, kernel: Tensor, bias: Tensor | None, padding: Padding) -> Tensor:
    """features (N, C, H, W), kernel (C', C, k, k) -> (N, C', H + 2 p - k + 1, W + 2 p - k + 1)."""
    if kernel.shape[2:] == features.shape[2:] and padding == (0, 0):  # one position: a matrix product
        convolved = (features.flatten(1) @ kernel.detach().flatten(1).mT)[:, :, None, None]
    else:
        convolved = _PlainConvolution.apply(features, kernel.detach(), padding)
    return convolved if bias is None else convolved + bias[:, None, None]
