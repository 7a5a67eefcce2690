"""A group that leaves further coordinates alone: O(2) about the z axis of space, say (thesis, section 2.7.2)."""

import numpy as np

from emlp_rpp.groups.finite import at_least
from emlp_rpp.groups.group import Array, Group
from emlp_rpp.groups.weights import Weights


def _bordered(matrix: Array, still: int, diagonal: float) -> Array:
    size = len(matrix)
    larger = np.zeros((size + still, size + still), dtype=matrix.dtype)
    larger[:size, :size] = matrix
    larger[range(size, size + still), range(size, size + still)] = diagonal
    return larger


class Embedded(Group):
    """``group`` on the first coordinates, the identity on ``still`` further ones."""

    def __init__(self, group: Group, still: int = 1):
        at_least(1, still, "Embedded")
        weights = None
        if group.weights is not None:
            inner = group.weights
            resting = np.zeros((still, inner.weights.shape[1]), dtype=np.int64)
            weights = Weights(
                _bordered(inner.change, still, 1.0),
                np.concatenate([inner.weights, resting]),
                inner.roots,
                tuple(_bordered(step, still, 0.0) for step in inner.raising),
                inner.moduli,
            )
        super().__init__(
            f"{group.name}+{still}",
            discrete=[_bordered(matrix, still, 1.0) for matrix in group.discrete],
            algebra=[_bordered(matrix, still, 0.0) for matrix in group.algebra],
            weights=weights,
        )
