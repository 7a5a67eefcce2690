"""The linear layer of an RPP-EMLP: an equivariant layer plus a free one, or one that is equivariant under a subgroup.

    y = A x + a + B x + b,   A, a equivariant under G,   B, b free or equivariant under H < G      (thesis, section 3.4)

Layout: (..., rep_in.size) -> (..., rep_out.size); ``forward_parts`` as in ``networks.linear``.
"""

from torch import Tensor, nn

from emlp_rpp.groups import Group
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.networks.linear import EquivariantLinear
from emlp_rpp.networks.parts import Parts, cut, join, part_shapes
from emlp_rpp.pathways.dense import Dense
from emlp_rpp.pathways.prior import PathwayPrior
from emlp_rpp.pathways.residual import ResidualPathway
from emlp_rpp.representations import Representation
from emlp_rpp.solver import Solutions


class PathwayLinear(ResidualPathway):
    """``subgroup``: None for a free residual. Where only zero is equivariant the residual is all there is."""

    equivariant: EquivariantLinear | None

    def __init__(
        self,
        rep_in: Representation,
        rep_out: Representation,
        prior: PathwayPrior,
        *,
        subgroup: Group | None = None,
        solutions: Solutions | None = None,
    ):
        rep_in, rep_out = check_representation(rep_in, "rep_in"), check_representation(rep_out, "rep_out")
        rep_in._with(rep_out)
        equivariant, residual = None, None
        if prior.has_equivariant:
            equivariant = EquivariantLinear(rep_in, rep_out, solutions=solutions, allow_empty=prior.has_residual)
        if prior.has_residual:
            residual = _residual(rep_in, rep_out, subgroup, solutions)
        super().__init__(equivariant, residual, prior)
        self.rep_in, self.rep_out = rep_in, rep_out
        self._shapes_out = part_shapes(rep_out)

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.rep_in)
        return super().forward(x)

    def forward_parts(self, parts: Parts) -> Parts:
        if self.residual is None and self.equivariant is not None:
            return self.equivariant.forward_parts(parts)
        free = self._free_parts(parts)
        if self.equivariant is None:
            return free
        return [own + other for own, other in zip(self.equivariant.forward_parts(parts), free)]

    def _free_parts(self, parts: Parts) -> Parts:
        # A representation restricted to a subgroup may have other summands, so the residual sees the coordinates.
        assert self.residual is not None
        return cut(self.residual(join(parts).mT).mT.contiguous(), self._shapes_out)


def _residual(
    rep_in: Representation, rep_out: Representation, subgroup: Group | None, solutions: Solutions | None
) -> nn.Module:
    if subgroup is None:
        return Dense((rep_in.size,), (rep_out.size,))
    options = None if solutions is None else Solutions(solutions.options)
    return EquivariantLinear(rep_in.restrict(subgroup), rep_out.restrict(subgroup), solutions=options, allow_empty=True)
