"""Sums of products of small tensors, one for each sample; the batch is the last axis of everything.

    y[..., n] = sum over some axes of a[..., n] b[..., n]         a and b broadcast against each other

Each sample multiplies a few numbers, so what counts is that all of it runs along contiguous rows of the batch. The whole
product is written down only where its summands are too small to be added up one by one. Derivatives are sums of the same
kind: the function can be differentiated any number of times.
"""

from math import prod
from typing import Any

import torch
from torch import Tensor

_CALL_ENTRIES = 8_000  # of a summand; below, calls take longer than sums


class _SumProducts(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
        return _sum_products(a, b, axes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, tuple[int, ...]], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        wanted_a, wanted_b, _ = ctx.needs_input_grad
        gradient_a = _gradient(a, gradient, b) if wanted_a else None
        gradient_b = _gradient(b, gradient, a) if wanted_b else None
        return gradient_a, gradient_b, None


def sum_products(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Summed axes are kept with length 1."""
    return _SumProducts.apply(a, b, axes) if torch.is_grad_enabled() else _sum_products(a, b, axes)


def _gradient(factor: Tensor, gradient: Tensor, other: Tensor) -> Tensor:
    """Summed where the product is longer than the factor; the same along an axis that only the factor has."""
    sizes = enumerate(zip(factor.shape, gradient.shape, other.shape))
    axes = tuple(at for at, (own, *rest) in sizes if own == 1 and max(rest) > 1)
    return sum_products(gradient, other, axes).expand(factor.shape)


def _sum_products(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
    sizes = list(map(max, a.shape, b.shape))
    summands = prod(sizes[axis] for axis in axes)
    if prod(sizes) > _CALL_ENTRIES * summands:
        return _add_up(a, b, axes, sizes)
    total = a * b
    for axis in axes:  # one after the other: sums over several axes at once are slow
        total = total.sum(axis, keepdim=True)
    return total


def _add_up(a: Tensor, b: Tensor, axes: tuple[int, ...], sizes: list[int]) -> Tensor:
    lefts, rights = [a], [b]
    for axis in reversed(axes):
        lefts, rights = ([piece for each in tensors for piece in _slices(each, axis, sizes)] for tensors in (lefts, rights))
    total = lefts[0] * rights[0]
    for x, y in zip(lefts[1:], rights[1:]):
        total.addcmul_(x, y)
    for axis in axes:
        total = total.unsqueeze(axis)
    return total


def _slices(tensor: Tensor, axis: int, sizes: list[int]) -> tuple[Tensor, ...]:
    return tensor.unbind(axis) if tensor.shape[axis] > 1 else tensor.unbind(axis) * sizes[axis]
