"""The number of invariant tensors of one group and type: what a cell of the thesis' tables A.1 to A.8 shows."""

import math

from emlp_rpp import counting
from emlp_rpp.errors import UnresolvedRankError
from emlp_rpp.groups import SL, SO, SU, Group, Lorentz, O, ProperLorentz, ProperOrthochronousLorentz, RubiksCube, S, Sp, Z
from emlp_rpp.representations import T
from emlp_rpp.solver import invariant_basis
from symlab.computed import Computed

ROOMY_BYTES = 24 * 2**30


def count_invariants(group: Group, p: int, q: int) -> int | None:
    """By integers alone (``emlp_rpp.counting``); None for a group without a formula.

    Real forms have the invariants of their complexification, so O(p, q) counts as O(p + q).
    """
    rank = p + q
    if isinstance(group, Z):
        return counting.cyclic_count(group.n, rank)
    if isinstance(group, S):
        return counting.symmetric_count(group.n, rank)
    if isinstance(group, RubiksCube):
        return counting.rubiks_cube_count(rank)
    if isinstance(group, SO | ProperOrthochronousLorentz | ProperLorentz):
        return counting.orthogonal_count(group.dimension, rank, special=True)
    if isinstance(group, O | Lorentz):
        return counting.orthogonal_count(group.dimension, rank)
    if isinstance(group, Sp):
        return counting.symplectic_count(group.dimension // 2, rank)
    if isinstance(group, SU | SL):
        return counting.unitary_count(group.dimension, p, q)
    return None


class InvariantRank:
    """The rank of T_(p, q) from a basis; above ``largest_size`` coordinates from an exact count, and then it says so.

    Where a count is known it must agree with the basis.
    """

    def __init__(self, group: Group, p: int, q: int = 0, largest_size: int = 500_000_000):
        self.group, self.p, self.q, self.largest_size = group, p, q, largest_size

    def compute(self) -> Computed:
        size = self.group.dimension ** (self.p + self.q)
        counted = count_invariants(self.group, self.p, self.q)
        if counted is not None and size > self.largest_size:
            metrics = {"rank": float(counted), "dimension": float(size), "counted": float(counted)}
            return Computed(metrics, "by an exact count; no basis was computed for so many coordinates")
        representation = T(self.p, self.q)(self.group)
        basis = invariant_basis(representation)
        if counted is not None and counted != basis.rank:
            raise UnresolvedRankError(
                f"{representation} of {self.group}: the basis has rank {basis.rank}, the count {counted}"
            )
        metrics = {"rank": float(basis.rank), "dimension": float(size), "residual": basis.certificate.residual}
        if counted is not None:
            metrics["counted"] = float(counted)
        if math.isfinite(basis.certificate.gap):
            metrics["gap"] = basis.certificate.gap
        dense = basis.dense_bytes
        roomy = dense <= ROOMY_BYTES
        return Computed(
            metrics, "" if roomy else f"a basis in compact form; as one matrix it would need {dense / 2**30:,.0f} GiB"
        )
