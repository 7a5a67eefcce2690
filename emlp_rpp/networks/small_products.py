"""Sums of products of small tensors, one for each sample; the batch is the last axis of everything.

    y[..., n] = sum over some axes of a[..., n] b[..., n]         a and b broadcast against each other

Each sample multiplies a few numbers, so what counts is that all of it runs along contiguous rows of the batch and that no
product is written down: a compiled loop adds up the rows of one result while they are in the first cache. Elsewhere than in
plain memory (other devices, vmap), and for few products in a graph, torch multiplies and sums. The derivatives are sums of
the same kind: the function can be differentiated any number of times.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from emlp_rpp.networks.row_loops import add_up_products, share_out_products
from symlab.compiled import call, is_plain
from symlab.signatures import with_signature

_WRITTEN = (
    60_000  # products up to which a graph of torch's own operations is built in less time than one with the loop in it
)
_LARGE = 200_000  # products from which on a second thread saves more than it takes to start


def sum_products(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Without the summed axes."""
    if is_plain(a, b):
        if not torch.is_grad_enabled():
            return _sum_in_memory(a, b, axes)
        if prod(map(max, a.shape, b.shape)) > _WRITTEN:
            return _SumInMemory.apply(a, b, axes)
    total = a * b
    for axis in reversed(axes):  # one after the other: sums over several axes at once are slow
        total = total.sum(axis)
    return total


@dataclass(frozen=True)
class _Rows:
    """Which rows of a and b make up each row of the sum: those where it begins, then these many rows on."""

    shape: tuple[int, ...]
    begin_a: np.ndarray
    begin_b: np.ndarray
    steps_a: np.ndarray
    steps_b: np.ndarray
    products: int


@cache
def _rows_of(a: torch.Size, b: torch.Size, axes: tuple[int, ...]) -> _Rows:
    """For shapes without the batch."""
    sizes = [max(pair) for pair in zip(a, b, strict=True)]
    kept = tuple(axis for axis in range(len(sizes)) if axis not in axes)

    def numbers(shape: torch.Size, along: tuple[int, ...]) -> np.ndarray:
        strides = [prod(shape[axis + 1 :]) if shape[axis] > 1 else 0 for axis in along]
        places = product(*(range(sizes[axis]) for axis in along))
        return np.array([sum(map(int.__mul__, place, strides)) for place in places], dtype=np.uint64)

    places = (numbers(a, kept), numbers(b, kept), numbers(a, axes), numbers(b, axes))
    return _Rows(tuple(sizes[axis] for axis in kept), *places, prod(sizes))


def _sum_in_memory(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
    batch = a.shape[-1]
    rows = _rows_of(a.shape[:-1], b.shape[:-1], axes)
    total = a.new_empty(*rows.shape, batch)
    loop = share_out_products if rows.products * batch > _LARGE else add_up_products
    tensors = a.contiguous().view(-1, batch), b.contiguous().view(-1, batch)
    call(loop, *tensors, rows.begin_a, rows.begin_b, rows.steps_a, rows.steps_b, total.view(-1, batch))
    return total


class _SumInMemory(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(a: Tensor, b: Tensor, axes: tuple[int, ...]) -> Tensor:
        return sum_products(a, b, axes)

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
