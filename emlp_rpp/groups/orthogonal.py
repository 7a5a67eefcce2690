"""Groups that preserve a form diag(1, .., 1, -1, .., -1): SO(n), O(n), SO(p, q), O(p, q) and the Lorentz groups.

The Lie algebra of the form eta is spanned by A_ij = (E_ij - E_ji) eta, i < j.
"""

from itertools import combinations

import numpy as np

from emlp_rpp.groups.finite import at_least
from emlp_rpp.groups.group import Array, Group
from emlp_rpp.groups.weights import orthogonal_weights
from symlab.errors import ConfigError


def signature(p: int, q: int) -> Array:
    if p < 0 or q < 0 or p + q < 1:
        raise ConfigError(f"the signature ({p}, {q}) does not fit: whole numbers from 0 on, not both 0")
    return np.array([1.0] * p + [-1.0] * q)


def algebra(form: Array) -> Array:
    size = len(form)
    matrices = np.zeros((size * (size - 1) // 2, size, size))
    for index, (i, j) in enumerate(combinations(range(size), 2)):
        matrices[index, i, j], matrices[index, j, i] = form[j], -form[i]
    return matrices


def reflection(size: int, *coordinates: int) -> Array:
    diagonal = np.ones(size)
    diagonal[list(coordinates)] = -1.0
    return np.diag(diagonal)


class SO(Group):
    """Rotations SO(n), or SO(p, q): determinant 1. For p, q > 0 it has two components, joined by a double reflection."""

    def __init__(self, p: int, q: int = 0):
        form = signature(p, q)
        size = len(form)
        double = [reflection(size, 0, size - 1)] if p and q else []
        name = f"SO({p},{q})" if q else f"SO({at_least(2, p, 'SO')})"
        super().__init__(name, discrete=double, algebra=algebra(form), weights=orthogonal_weights(form.tolist()))


class O(Group):  # noqa: E742  (the name of the group)
    """Orthogonal group O(n), or O(p, q): one reflection for each sign of the form."""

    def __init__(self, p: int, q: int = 0):
        form = signature(p, q)
        size = len(form)
        reflections = [reflection(size, i) for i in dict.fromkeys((0, size - 1)) if i == 0 or (p and q)]
        name = f"O({p},{q})" if q else f"O({p})"
        super().__init__(name, discrete=reflections, algebra=algebra(form), weights=orthogonal_weights(form.tolist()))


class ProperOrthochronousLorentz(Group):
    """SO+(1, 3): the exponentials alone."""

    def __init__(self) -> None:
        form = signature(1, 3)
        super().__init__("SO+(1,3)", algebra=algebra(form), weights=orthogonal_weights(form.tolist()))


class ProperLorentz(Group):
    """SO(1, 3): with -1, which reverses time and space (thesis, A.1.5.5)."""

    def __init__(self) -> None:
        form = signature(1, 3)
        weights = orthogonal_weights(form.tolist())
        super().__init__("SO(1,3)", discrete=[-np.eye(4)], algebra=algebra(form), weights=weights)


class Lorentz(Group):
    """O(1, 3): with -1 and the reversal of time."""

    def __init__(self) -> None:
        form = signature(1, 3)
        weights = orthogonal_weights(form.tolist())
        discrete = [-np.eye(4), reflection(4, 0)]
        super().__init__("O(1,3)", discrete=discrete, algebra=algebra(form), weights=weights)
