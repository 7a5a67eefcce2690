"""Orthonormal bases of invariant tensors and of equivariant maps, exact where the structure of the group allows it."""

from emlp_rpp.solver.basis import Basis, Certificate
from emlp_rpp.solver.dispatch import Options, invariant_basis, solve_term
from emlp_rpp.solver.map_basis import MapBasis, equivariant_maps, refuse_empty
from emlp_rpp.solver.solutions import Solutions

__all__ = [
    "Basis",
    "Certificate",
    "MapBasis",
    "Options",
    "Solutions",
    "equivariant_maps",
    "invariant_basis",
    "refuse_empty",
    "solve_term",
]
