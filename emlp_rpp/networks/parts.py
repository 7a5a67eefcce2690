"""Features as the tensors of their summands: ``Parts``, one (copies, size, batch) for each summand of a representation.

The batch is the last axis. Then the coordinates of a representation are rows, in their own order, and a summand is a block
of rows: cutting moves nothing, a matrix of weights that mixes copies multiplies (copies, size * batch) from the left, and
what is done to each sample alone runs along contiguous rows (``small_products``). Layers of a block hand parts on.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from emlp_rpp.representations import Representation
from emlp_rpp.representations.representation import term_size

Parts = list[Tensor]


def part_shapes(representation: Representation) -> list[tuple[int, int]]:
    """(copies, size) of every summand."""
    return [(copies, term_size(term)) for copies, term in representation.summands]


def cut(rows: Tensor, shapes: Sequence[tuple[int, int]]) -> Parts:
    """(sum of copies * size, batch) -> parts."""
    return [part.unflatten(0, shape) for part, shape in zip(rows.split([m * s for m, s in shapes]), shapes)]


def join(parts: Sequence[Tensor]) -> Tensor:
    """Parts -> (sum of copies * size, batch)."""
    return concatenate([part.flatten(0, 1) for part in parts], 0)


def concatenate(tensors: Sequence[Tensor], dim: int) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors), dim)


def split_parts(x: Tensor, representation: Representation) -> Parts:
    """(..., size) in the order of the representation, copy after copy -> parts; leading axes are joined to one."""
    return cut(x.reshape(-1, representation.size).mT.contiguous(), part_shapes(representation))


def join_parts(parts: Sequence[Tensor], like: Tensor) -> Tensor:
    """Parts -> (..., size) in the order of the representation, with the leading axes of ``like``."""
    joined = join(parts)
    return joined.mT.reshape(*like.shape[:-1], len(joined))
