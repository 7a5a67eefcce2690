"""Sums of outer products, the bulk of the arithmetic of a fit.

Rows come as (p, b, Q, R, d): for each of p products and b diagonal blocks, Q stacks of R rows (the stacks exist so that a
feature map in its usual layout need not be copied). Their Gram matrices are

    gram(rows)[i, j] = sum_q rows[i, j, q]^T rows[i, j, q],      (p, b, d, d).

A Gram matrix is symmetric, so ``accumulate_gram`` computes the blocks on and above its diagonal only and ``mirror`` copies
them below at the end of the pass: with blocks of a quarter of the width, 10 of 16 block products are left.
"""

import itertools

from torch import Tensor

# Below this width a product is too small for the saving to pay for the additional calls.
SMALLEST_BLOCK = 120


def gram(rows: Tensor) -> Tensor:
    """(p, b, Q, R, d) -> (p, b, d, d); differentiable."""
    return (rows.mT @ rows).sum(2)


def accumulate_gram(total: Tensor, rows: Tensor) -> None:
    """Add ``gram(rows)`` to ``total`` in place; entries below the diagonal are left to ``mirror``.

    ``total`` may have a wider type than ``rows``: products are then taken in the rows' type and added in the total's.
    """
    products, blocks, stacks, _, width = rows.shape
    if stacks > 1:
        total += gram(rows)
    elif products * blocks > 1:
        _add_product(total.flatten(0, 1), rows.flatten(0, 2).mT, rows.flatten(0, 2))
    else:
        matrix, target = rows[0, 0, 0], total[0, 0]
        count = max(1, width // SMALLEST_BLOCK)
        edges = [width * block // count for block in range(count + 1)]
        for start, stop in itertools.pairwise(edges):
            _add_product(target[start:stop, start:], matrix[:, start:stop].mT, matrix[:, start:])


def _add_product(target: Tensor, left: Tensor, right: Tensor) -> None:
    if target.dtype != right.dtype:
        target += left @ right
    elif target.dim() == 3:
        target.baddbmm_(left, right)
    else:
        target.addmm_(left, right)


def mirror(total: Tensor) -> None:
    """Complete a total of ``accumulate_gram`` below its diagonal, in place."""
    total.copy_(total.triu() + total.triu(1).mT)
