"""Sums of products of small tensors, one for each sample; the batch is the last axis of everything.

    y[..., n] = sum over some axes of a[..., n] b[..., n]         a and b broadcast against each other

Each sample multiplies a few numbers, so what counts is that all of it runs along contiguous rows of the batch. Small
products are written down and summed, and so are sums of many; sums of few large ones are added up one by one, since what
is written down would leave the cache. Their derivatives are sums of the same kind: the function can be differentiated any
number of times.
"""

from math import prod
from typing import Any

import torch
from torch import Tensor

from symlab.signatures import with_signature

_SUMMAND_ENTRIES = 8_000  # smaller ones take longer to call than to add
_MANY = 9  # summands whose calls take longer than a product that is written down,
_PRODUCT_ENTRIES = 600_000  # if it is no larger


def sum_products(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Without the summed axes."""
    sizes = list(map(max, a.shape, b.shape))
    summands = prod(sizes[axis] for axis in axes)
    entries, is_many = prod(sizes), len(axes) == 1 and summands >= _MANY
    if entries > (_PRODUCT_ENTRIES if is_many else _SUMMAND_ENTRIES * summands):
        return _SumLarge.apply(a, b, axes) if torch.is_grad_enabled() else _add_up(a, b, axes, sizes)
    total = a * b
    for axis in reversed(axes):  # one after the other: sums over several axes at once are slow
        total = total.sum(axis) if sizes[axis] > 1 else total.squeeze(axis)
    return total


class _SumLarge(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
        return _add_up(a, b, axes, list(map(max, a.shape, b.shape)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, tuple[int, ...]], output: Tensor) -> None:
        ctx.axes = inputs[2]
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        for axis in ctx.axes:
            gradient = gradient.unsqueeze(axis)
        wanted_a, wanted_b, _ = ctx.needs_input_grad
        return _gradient(a, gradient, b) if wanted_a else None, _gradient(b, gradient, a) if wanted_b else None, None


def _gradient(factor: Tensor, gradient: Tensor, other: Tensor) -> Tensor:
    """Summed where the product is longer than the factor; the same along an axis that only the factor has."""
    sizes = enumerate(zip(factor.shape, gradient.shape, other.shape))
    axes = tuple(at for at, (own, *rest) in sizes if own == 1 and max(rest) > 1)
    total = sum_products(gradient, other, axes)
    for axis in axes:
        total = total.unsqueeze(axis)
    return total.expand(factor.shape)


def _add_up(a: Tensor, b: Tensor, axes: tuple[int, ...], sizes: list[int]) -> Tensor:
    if prod(sizes[axis] for axis in axes) > _MANY and len(axes) > 1:  # the first axis in one call
        return _add_up(a, b, axes[1:], sizes).sum(axes[0])
    lefts, rights = [a], [b]
    for axis in reversed(axes):
        lefts, rights = ([piece for each in tensors for piece in _slices(each, axis, sizes)] for tensors in (lefts, rights))
    total = lefts[0] * rights[0]
    for x, y in zip(lefts[1:], rights[1:]):
        total.addcmul_(x, y)
    return total


def _slices(tensor: Tensor, axis: int, sizes: list[int]) -> tuple[Tensor, ...]:
    return tensor.unbind(axis) if tensor.shape[axis] > 1 else tensor.unbind(axis) * sizes[axis]
