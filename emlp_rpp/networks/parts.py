"""Features as the tensors of their summands: ``Parts``, one (batch, size, copies) for each summand of a representation.

Copies are the last axis: a tensor type is then one matrix (batch * size, copies) whose copies a matrix of weights can mix,
and a matrix that acts on the entries of each sample multiplies it from the left. Layers of a block hand parts to each other,
so that nothing is joined, cut or transposed more often than needed.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from emlp_rpp.representations import Representation
from emlp_rpp.representations.representation import term_size

Parts = list[Tensor]


def part_shapes(representation: Representation) -> list[tuple[int, int]]:
    """(size, copies) of every summand."""
    return [(term_size(term), copies) for copies, term in representation.summands]


def cut(rows: Tensor, shapes: Sequence[tuple[int, int]]) -> Parts:
    """(batch, sum of size * copies) -> parts."""
    return [part.unflatten(1, shape) for part, shape in zip(rows.split([s * m for s, m in shapes], dim=1), shapes)]


def join(parts: Sequence[Tensor]) -> Tensor:
    """Parts -> (batch, sum of size * copies)."""
    return concatenate([part.flatten(1) for part in parts], dim=1)


def concatenate(tensors: Sequence[Tensor], dim: int) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors), dim)


def split_parts(x: Tensor, representation: Representation) -> Parts:
    """(..., size) in the order of the representation, copy after copy -> parts; leading axes are joined to one."""
    shapes = [(copies, size) for size, copies in part_shapes(representation)]
    return [part.mT for part in cut(x.reshape(-1, representation.size), shapes)]


def join_parts(parts: Sequence[Tensor], like: Tensor) -> Tensor:
    """Parts -> (..., size) in the order of the representation, with the leading axes of ``like``."""
    joined = join([part.mT for part in parts])
    return joined.reshape(*like.shape[:-1], joined.shape[1])
