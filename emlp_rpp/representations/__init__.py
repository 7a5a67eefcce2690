"""Representations as sums of tensor products, written as on paper: ``(5 * V + 3 * T(2) >> T(2))(SO(3))``."""

from emlp_rpp.representations.atoms import Atom
from emlp_rpp.representations.expressions import Expression, PseudoScalar, Scalar, T, V
from emlp_rpp.representations.maps import Maps
from emlp_rpp.representations.representation import (
    Representation,
    character,
    from_function,
    permutation_representation,
)

__all__ = [
    "Atom",
    "Expression",
    "Maps",
    "PseudoScalar",
    "Representation",
    "Scalar",
    "T",
    "V",
    "character",
    "from_function",
    "permutation_representation",
]
