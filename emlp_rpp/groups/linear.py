"""Sp(n), SL(n), GL(n) over the reals and SU(n), U(n) over the complex numbers.

Unitary groups act on complex vectors; equivariant maps are complex-linear, with the conjugate transpose in every inner
product (thesis, A.1.5.7)."""

from itertools import combinations

import numpy as np

from emlp_rpp.groups.finite import at_least
from emlp_rpp.groups.group import Array, Group
from emlp_rpp.groups.orthogonal import reflection
from emlp_rpp.groups.weights import linear_weights, symplectic_weights


def unit(size: int, row: int, column: int) -> Array:
    matrix = np.zeros((size, size))
    matrix[row, column] = 1.0
    return matrix


class Sp(Group):
    """Matrices of size 2n that preserve Omega = [[0, 1], [-1, 0]]; the algebra is {[[a, b], [c, -a^T]]: b, c symmetric}."""

    def __init__(self, n: int):
        size = 2 * at_least(1, n, "Sp")
        matrices = [unit(size, i, j) - unit(size, n + j, n + i) for i in range(n) for j in range(n)]
        for i in range(n):
            for j in range(i, n):
                share = 0.5 if i == j else 1.0
                matrices.append(share * (unit(size, i, n + j) + unit(size, j, n + i)))
                matrices.append(share * (unit(size, n + i, j) + unit(size, n + j, i)))
        super().__init__(f"Sp({n})", algebra=matrices, weights=symplectic_weights(n))


def traceless_diagonals(n: int) -> list[Array]:
    return [unit(n, i, i) - unit(n, i + 1, i + 1) for i in range(n - 1)]


class SL(Group):
    """Determinant 1."""

    def __init__(self, n: int):
        at_least(2, n, "SL")
        matrices = [unit(n, i, j) for i in range(n) for j in range(n) if i != j] + traceless_diagonals(n)
        super().__init__(f"SL({n})", algebra=matrices, weights=linear_weights(n, special=True))


class GL(Group):
    """All invertible matrices; a reflection joins the two components."""

    def __init__(self, n: int):
        at_least(1, n, "GL")
        matrices = [unit(n, i, j) for i in range(n) for j in range(n)]
        super().__init__(f"GL({n})", discrete=[reflection(n, 0)], algebra=matrices, weights=linear_weights(n, special=False))


def antihermitian(n: int) -> list[Array]:
    """The off-diagonal part: i (E_ij + E_ji) and E_ij - E_ji."""
    matrices: list[Array] = []
    for i, j in combinations(range(n), 2):
        matrices += [1j * (unit(n, i, j) + unit(n, j, i)), (unit(n, i, j) - unit(n, j, i)).astype(np.complex128)]
    return matrices


class SU(Group):
    """Unitary matrices of determinant 1."""

    def __init__(self, n: int):
        at_least(2, n, "SU")
        matrices = antihermitian(n) + [1j * diagonal for diagonal in traceless_diagonals(n)]
        super().__init__(f"SU({n})", algebra=matrices, weights=linear_weights(n, special=True))


class U(Group):
    """Unitary matrices."""

    def __init__(self, n: int):
        at_least(1, n, "U")
        matrices = antihermitian(n) + [1j * unit(n, i, i) for i in range(n)]
        super().__init__(f"U({n})", algebra=matrices, weights=linear_weights(n, special=False))
