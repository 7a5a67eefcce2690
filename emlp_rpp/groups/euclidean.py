"""SE(n) and E(n) on homogeneous coordinates (x, 1): [[R, t], [0, 1]]. They are not reductive: the solver iterates."""

import numpy as np

from emlp_rpp.groups.finite import at_least
from emlp_rpp.groups.group import Array, Group
from emlp_rpp.groups.linear import unit
from emlp_rpp.groups.orthogonal import algebra, reflection, signature


def _motions(n: int) -> list[Array]:
    rotations = [np.pad(matrix, ((0, 1), (0, 1))) for matrix in algebra(signature(n, 0))]
    return rotations + [unit(n + 1, i, n) for i in range(n)]


class SE(Group):
    """Rotations and translations of n-dimensional space."""

    def __init__(self, n: int):
        super().__init__(f"SE({n})", algebra=_motions(at_least(1, n, "SE")))


class E(Group):
    """Rotations, reflections and translations of n-dimensional space."""

    def __init__(self, n: int):
        at_least(1, n, "E")
        super().__init__(f"E({n})", discrete=[reflection(n + 1, 0)], algebra=_motions(n))
