"""The exponential of affine generators, for thousands of small matrices at once.

    exp [[A, t], [0, 0]] = [[exp A, V t], [0, 1]],      V = sum_k A^k / (k + 1)!,      exp A = I + A V,      A: 2 x 2

Every polynomial of A = m I + B, where m is half the trace and B is traceless, lies in the plane spanned by I and B, because
B^2 = q I with q = -det B. In this plane a product costs four multiplications,

    (u I + v B) (u' I + v' B) = (u u' + q v v') I + (u v' + v u') B,

so V is summed up by Horner's rule at A / 2^j, small enough for the series to end at rounding, and doubled j times:

    V(2 X) = V(X) (I + exp X) / 2 = V(X) + X V(X)^2 / 2.

There are no branches and no square roots: derivatives are right everywhere, also at A = 0 and where eigenvalues coincide.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

_TERMS = 13  # of the series for |X| <= 1/2: the next term is below 2e-15
_LARGEST = 0.5


class _InPlane(NamedTuple):
    """identity * I + traceless * B, one number of each per matrix."""

    identity: Tensor
    traceless: Tensor


def _times(left: _InPlane, right: _InPlane, square: Tensor) -> _InPlane:
    identity = torch.addcmul(left.identity * right.identity, square, left.traceless * right.traceless)
    return _InPlane(identity, torch.addcmul(left.identity * right.traceless, left.traceless, right.identity))


def affine_exponential(linear: Tensor, shift: Tensor) -> Tensor:
    """Generators with A (..., 2, 2) and t (..., 2) -> the first two rows (..., 2, 3) of their exponentials."""
    (a, b), (c, d) = (row.unbind(-1) for row in linear.unbind(-2))
    doublings = _doublings(linear)
    scale = 0.5**doublings
    mean, difference = 0.5 * (a + d), 0.5 * (a - d)
    square = difference * difference + b * c  # q of B = [[difference, b], [c, -difference]]
    point = _InPlane(mean * scale, torch.full_like(mean, scale))
    series = _InPlane(torch.full_like(mean, 1 / math.factorial(_TERMS)), torch.zeros_like(mean))
    for order in reversed(range(1, _TERMS)):
        product = _times(series, point, square)
        series = _InPlane(product.identity + 1 / math.factorial(order), product.traceless)
    for _ in range(doublings):
        step = _times(point, _times(series, series, square), square)
        series = _InPlane(series.identity + 0.5 * step.identity, series.traceless + 0.5 * step.traceless)
        point = _InPlane(2 * point.identity, 2 * point.traceless)
    exponential = _times(point, series, square)
    moved_x, moved_y = (
        series.identity * one + series.traceless * other
        for one, other in (
            (shift[..., 0], difference * shift[..., 0] + b * shift[..., 1]),
            (shift[..., 1], c * shift[..., 0] - difference * shift[..., 1]),
        )
    )
    diagonal = 1 + exponential.identity
    first = [diagonal + exponential.traceless * difference, exponential.traceless * b, moved_x]
    second = [exponential.traceless * c, diagonal - exponential.traceless * difference, moved_y]
    return torch.stack([torch.stack(first, -1), torch.stack(second, -1)], -2)


def _doublings(linear: Tensor) -> int:
    """How often the largest matrix must be halved to have a norm (of rows) of at most ``_LARGEST``."""
    if linear.numel() == 0 or linear.is_meta:  # a plan asks for shapes alone, and these do not depend on it
        return 0
    largest = linear.detach().abs().sum(-1).max().item()
    return max(0, math.ceil(math.log2(largest / _LARGEST))) if largest > 0 else 0
