"""Convolution with zeros around the map and a stride of one, differentiable in its features only.

    y(c', q) = sum_{c, l} w(c', c, l) x(c, q + l - p),      x = 0 outside of the map,  0 <= p < k

Equal to nn.Conv2d(..., padding=p) with fixed weights. The gradient in x is the transposed convolution, and that of this one
a convolution again. torch's own double backward also computes gradients of the weights, whether or not they are asked for.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from symlab.circular_convolution import adjoint_kernel
from symlab.signatures import with_signature

Padding = tuple[int, int]

BLOCK_ENTRIES = 2**20  # of the maps that one output channel is added up from


class _PlainConvolution(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(features: Tensor, kernel: Tensor, padding: Padding) -> Tensor:
        if len(kernel) == 1 and features.is_contiguous():
            return _convolve_to_one_channel(features, kernel, padding)
        return nn.functional.conv2d(features, kernel, padding=padding)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Padding], output: Tensor) -> None:
        _, kernel, ctx.padding = inputs
        ctx.save_for_backward(kernel)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        (kernel,) = ctx.saved_tensors
        return _TransposedConvolution.apply(gradient, kernel, ctx.padding) if ctx.needs_input_grad[0] else None, None, None


class _TransposedConvolution(torch.autograd.Function):
    """x(c, q) = sum_{c', l} w(c', c, l) y(c', q - l + p); for few channels faster than by the flipped kernel."""

    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(features: Tensor, kernel: Tensor, padding: Padding) -> Tensor:
        height, width = kernel.shape[2:]
        if kernel.shape[1] == 1 and features.is_contiguous():
            wider = (height - 1 - padding[0], width - 1 - padding[1])
            return _convolve_to_one_channel(features, adjoint_kernel(kernel), wider)
        return nn.functional.conv_transpose2d(features, kernel, padding=padding)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Padding], output: Tensor) -> None:
        _, kernel, ctx.padding = inputs
        ctx.save_for_backward(kernel)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        (kernel,) = ctx.saved_tensors
        return _PlainConvolution.apply(gradient, kernel, ctx.padding) if ctx.needs_input_grad[0] else None, None, None


def _convolve_to_one_channel(features: Tensor, kernel: Tensor, padding: Padding) -> Tensor:
    """One product takes all channels together for every place of the kernel, whose maps are then moved and added up.

    A library's convolution computes eight or sixteen output channels side by side and is twice as slow for one, such as the
    gradient in grey images. The maps of a few samples at a time stay in the cache."""
    _, _, height, width = kernel.shape
    rows, columns = features.shape[2:]
    total = features.new_zeros(len(features), 1, rows + 2 * padding[0] - height + 1, columns + 2 * padding[1] - width + 1)
    size = max(1, BLOCK_ENTRIES // (height * width * rows * columns))
    for part, into in zip(features.split(size), total.split(size), strict=True):
        _add_moved(into, kernel.flatten(2)[0].mT @ part.flatten(2), kernel.shape[2:], (rows, columns), padding)
    return total


def _add_moved(total: Tensor, maps: Tensor, kernel: Sequence[int], extent: Padding, padding: Padding) -> None:
    """Add the maps of all places of the kernel, (N, k k, H W), to the total, in place."""
    height, width = kernel
    rows, columns = extent
    maps = maps.unflatten(1, (height, width)).unflatten(3, (rows, columns))
    for down in range(height):
        for right in range(width):
            # Position q of the output sees q + l - p of the map: l = (down, right).
            (into_y, from_y), (into_x, from_x) = (
                _overlap(down - padding[0], total.shape[2], rows),
                _overlap(right - padding[1], total.shape[3], columns),
            )
            total[:, 0, into_y, into_x] += maps[:, down, right, from_y, from_x]


def _overlap(shift: int, extent: int, available: int) -> tuple[slice, slice]:
    """Positions q < extent with 0 <= q + shift < available, and q + shift."""
    first, last = max(0, -shift), max(max(0, -shift), min(extent, available - shift))
    return slice(first, last), slice(first + shift, last + shift)


def plain_convolution(features: Tensor, kernel: Tensor, bias: Tensor | None, padding: Padding) -> Tensor:
    """features (N, C, H, W), kernel (C', C, k, k) -> (N, C', H + 2 p - k + 1, W + 2 p - k + 1)."""
    if kernel.shape[2:] == features.shape[2:] and padding == (0, 0):  # one position: a matrix product
        convolved = (features.flatten(1) @ kernel.detach().flatten(1).mT)[:, :, None, None]
    else:
        convolved = _PlainConvolution.apply(features, kernel.detach(), padding)
    return convolved if bias is None else convolved + bias[:, None, None]
