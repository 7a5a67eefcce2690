"""Which path solves which tensor product, and how bases of sums are put together.

    no factors                                   the number 1
    direct product of groups                     Kronecker product of the factors' bases
    signed permutations                          orbits of index tuples, integers only
    a torus and its root vectors are known       highest weights of two halves
    any other group                              singular values (small), projected random vectors

The factors of a product are brought into canonical order first, so that one solution serves every order.
"""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch

from emlp_rpp.errors import ProblemTooLargeError
from emlp_rpp.groups.products import DirectProduct
from emlp_rpp.representations.atoms import Atom
from emlp_rpp.representations.representation import Representation, Term, canonical_order, term_size
from emlp_rpp.solver import cache
from emlp_rpp.solver.basis import Basis, Certificate, DenseBasis, KroneckerBasis, TransposedBasis
from emlp_rpp.solver.constraint import Constraint
from emlp_rpp.solver.orbits import signed_permutations, solve_by_orbits
from emlp_rpp.solver.projection import solve_generally
from emlp_rpp.solver.sum_basis import SumBasis
from emlp_rpp.solver.weight_basis import solve_by_weights


@dataclass(frozen=True)
class Options:
    """``limit_bytes``: memory a solution may need while it is computed. ``cache_directory``: where bases are kept."""

    limit_bytes: int = 8 * 2**30
    cache_directory: Path | None = None


_BYTES_PER_EDGE = 24  # of a component search: images, graph and its labels


def solve_term(term: Term, options: Options | None = None) -> Basis:
    """The invariant elements of one tensor product, in the order of its factors."""
    chosen = options or Options()
    order = canonical_order(term)
    canonical = tuple(term[i] for i in order)
    basis = cache.load(chosen.cache_directory, canonical)
    if basis is None:
        basis = _solve(canonical, chosen)
        cache.store(chosen.cache_directory, canonical, basis)
    if order == sorted(order):
        return basis
    return TransposedBasis(basis, [atom.size for atom in canonical], order)


def _solve(term: Term, options: Options) -> Basis:
    if not term:
        return DenseBasis(torch.ones(1, 1, dtype=torch.float64), Certificate("a scalar"))
    if isinstance(term[0].group, DirectProduct) and all(atom.origin is not None for atom in term):
        return KroneckerBasis([_solve_factor(list(atoms), options) for _, atoms in groupby(term, lambda atom: atom.factor)])
    permutations = signed_permutations(term)
    if permutations is not None:
        needed = _BYTES_PER_EDGE * term_size(term) * (len(permutations) + 1)
        if needed > options.limit_bytes:
            raise ProblemTooLargeError(
                f"orbits of {term_size(term):,} index tuples need about {needed / 2**30:.1f} GiB, more than the limit of "
                f"{options.limit_bytes / 2**30:.1f} GiB"
            )
        return solve_by_orbits(term, permutations)
    if all(atom.weights is not None for atom in term):
        return solve_by_weights(term)
    return solve_generally(Constraint(term), options.limit_bytes)


def _solve_factor(atoms: list[Atom], options: Options) -> Basis:
    return solve_term(tuple(atom.origin for atom in atoms if atom.origin is not None), options)


def invariant_basis(representation: Representation, options: Options | None = None) -> Basis:
    """Orthonormal basis of {v: rho(g) v = v}: of one tensor product, or block by block of a sum."""
    solved = {term: solve_term(term, options) for _, term in representation.summands}
    blocks = [(multiplicity, solved[term]) for multiplicity, term in representation.summands]
    return blocks[0][1] if [m for m, _ in blocks] == [1] else SumBasis(blocks)
