"""Bases that are solved once while networks are built: the layers of one network ask for the same tensor products again."""

from emlp_rpp.representations.representation import Term, canonical_order
from emlp_rpp.solver.basis import Basis, TransposedBasis
from emlp_rpp.solver.dispatch import Options, solve_term


class Solutions:
    """``solve_term`` with a memory; every order of the same factors shares one solution."""

    def __init__(self, options: Options | None = None):
        self.options = options or Options()
        self._solved: dict[Term, Basis] = {}

    def __call__(self, term: Term) -> Basis:
        order = canonical_order(term)
        canonical = tuple(term[i] for i in order)
        if canonical not in self._solved:
            self._solved[canonical] = solve_term(canonical, self.options)
        basis = self._solved[canonical]
        return basis if order == sorted(order) else TransposedBasis(basis, [atom.size for atom in canonical], order)
