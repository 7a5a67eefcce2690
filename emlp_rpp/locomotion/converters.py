"""From what a simulator observes to coordinates on which a group acts by matrices.

Layout: observations and actions (..., n), float64 or float32; every function keeps leading axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class SignedOrder:
    """y_i = signs_i x_order(i): a new order of coordinates, some of them with the other sign."""

    order: tuple[int, ...]
    signs: tuple[int, ...]

    @classmethod
    def of(cls, order: Sequence[int], negative: Sequence[int] = ()) -> "SignedOrder":
        """``negative``: the coordinates x_j that change their sign."""
        return cls(tuple(order), tuple(-1 if at in negative else 1 for at in order))

    def apply(self, x: Array) -> Array:
        return x[..., list(self.order)] * np.array(self.signs, dtype=x.dtype)

    def undo(self, y: Array) -> Array:
        x = np.empty_like(y)
        x[..., list(self.order)] = y * np.array(self.signs, dtype=y.dtype)
        return x


def rotation_matrix(quaternions: Array) -> Array:
    """Quaternions (w, x, y, z) -> the matrices that turn body coordinates into those of the world: (..., 4) -> (..., 3, 3).

    Quaternions need not have length 1; q and -q are one rotation.
    """
    w, x, y, z = np.moveaxis(quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
