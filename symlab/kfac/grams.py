"""Sums of outer products, the bulk of the arithmetic of a fit.

Rows come as (p, b, Q, R, d): for each of p products and b diagonal blocks, Q stacks of R rows (the stacks exist so that a
feature map in its usual layout need not be copied). Their Gram matrices are

    gram(rows)[i, j] = sum_q rows[i, j, q]^T rows[i, j, q],      (p, b, d, d).

A Gram matrix is symmetric, so ``accumulate_gram`` computes the blocks on and above its diagonal only and ``mirror`` copies
them below at the end of the pass: with blocks of a fifth of the width, 15 of 25 block products are left.
"""

import itertools

from torch import Tensor

# Blocks of about this width: narrower ones leave less arithmetic but are slower by more. A multiple of what a processor's
# vectors hold: products that begin between such multiples are up to a fifth slower.
BLOCK, VECTOR = 96, 16


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
        edges = block_edges(width)
        for start, stop in itertools.pairwise(edges):
            _add_product(target[start:stop, start:], matrix[:, start:stop].mT, matrix[:, start:])


def _add_product(target: Tensor, left: Tensor, right: Tensor) -> None:
    if target.dtype != right.dtype:
        target += left @ right
    elif target.dim() == 3:
        target.baddbmm_(left, right)
    else:
        target.addmm_(left, right)


def block_edges(width: int) -> list[int]:
    """Where the blocks of a symmetric matrix begin, and its width: blocks of about ``BLOCK``, two in a matrix of that width,
    one in a smaller one."""
    count = max(2, width // BLOCK) if width >= BLOCK else 1
    return [round(width * block / count / VECTOR) * VECTOR for block in range(count)] + [width]


def mirror(total: Tensor) -> None:
    """Complete a total of ``accumulate_gram`` below its diagonal, in place."""
    for start, stop in itertools.pairwise(block_edges(total.shape[-1])):
        total[..., stop:, start:stop] = total[..., start:stop, stop:].mT
        diagonal = total[..., start:stop, start:stop]
        diagonal.copy_(diagonal.triu() + diagonal.triu(1).mT)
