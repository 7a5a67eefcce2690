"""Every path against the dense singular value decomposition, and every basis element against random group elements."""

import numpy as np
import pytest
import torch

from emlp_rpp.errors import ProblemTooLargeError
from emlp_rpp.groups import SO, SU, DirectProduct, Group, O, RubiksCube, S, Sp, Z
from emlp_rpp.representations import PseudoScalar, Representation, T, V, character
from emlp_rpp.solver import Options, invariant_basis
from emlp_rpp.solver.constraint import Constraint
from emlp_rpp.solver.modes import apply_modes
from emlp_rpp.solver.projection import solve_densely
from tests.emlp_rpp.cases import CASES, PRODUCTS


def check_against_dense_oracle(representation: Representation) -> None:
    basis, oracle = invariant_basis(representation), solve_densely(Constraint(representation.term))
    assert (basis.size, basis.rank) == (oracle.size, oracle.rank)
    found, expected = basis.dense(), oracle.matrix
    torch.testing.assert_close(found.mH @ found, torch.eye(basis.rank, dtype=found.dtype), atol=1e-10, rtol=0)
    complex_pair = found.to(torch.complex128), expected.to(torch.complex128)
    torch.testing.assert_close(complex_pair[0] @ complex_pair[0].mH, complex_pair[1] @ complex_pair[1].mH, atol=1e-9, rtol=0)
    assert basis.certificate.residual < 1e-10
    assert basis.certificate.gap > 1e6


@pytest.mark.parametrize("group", PRODUCTS, ids=str)
def test_bases_of_direct_products_are_kronecker_products(group: DirectProduct):
    check_against_dense_oracle(T(2)(group))
    first, second = (V(factor).lift(group, at) for at, factor in enumerate(group.factors))
    check_against_dense_oracle(first * second * first)
    check_against_dense_oracle(second * second * first * first)


def residual_under_random_elements(representation: Representation, count: int = 3) -> float:
    basis = invariant_basis(representation).dense()
    if not basis.numel():
        return 0.0
    generator, worst = np.random.default_rng(5), 0.0
    for _ in range(count):
        element = representation.group.random_element(generator)
        factors = [torch.tensor(atom.matrix(element)).to(basis.dtype) for atom in representation.term]
        worst = max(worst, float((apply_modes(factors, basis) - basis).abs().max()))
    return worst


@pytest.mark.parametrize(("group", "p", "q"), CASES, ids=str)
def test_bases_span_the_null_space_and_are_fixed_by_random_elements(group: Group, p: int, q: int):
    check_against_dense_oracle(T(p, q)(group))
    assert residual_under_random_elements(T(p, q)(group)) < 1e-10


@pytest.mark.parametrize(
    ("group", "p", "q", "rank"),
    [(SO(5), 6, 0, 15), (SO(4), 6, 0, 25), (Sp(2), 6, 0, 14), (SU(3), 3, 3, 6), (S(4), 6, 0, 187)],
)
def test_larger_bases_are_fixed_too(group: Group, p: int, q: int, rank: int):
    representation = T(p, q)(group)
    assert invariant_basis(representation).rank == rank
    assert residual_under_random_elements(representation, 1) < 1e-10


def test_pseudoscalars_and_signs():
    for group in (O(2), O(3), S(3)):
        for rank in (2, 3):
            check_against_dense_oracle((PseudoScalar * T(rank))(group))
    assert invariant_basis((PseudoScalar * T(3))(O(3))).rank == 1  # the cross product
    check_against_dense_oracle(character(Z(4), [-1.0], "alternating") * V(Z(4)))


def test_any_order_of_factors_has_its_basis():
    group = Sp(1)
    check_against_dense_oracle((V.dual * V * V.dual * V)(group))
    check_against_dense_oracle((V.dual * V * V.dual * V)(SU(3)))


def test_sums_are_solved_block_by_block():
    representation = (2 * V + 3 * T(2) + T(0))(SO(3))
    basis = invariant_basis(representation)
    assert basis.rank == 3 + 1
    dense = basis.dense()
    constraint = torch.tensor(np.concatenate([representation.algebra_matrix(i) for i in range(3)]))
    assert (constraint @ dense).abs().max() < 1e-12
    vector = torch.randn(2, representation.size, dtype=torch.float64)
    torch.testing.assert_close(basis.project(vector), vector @ dense @ dense.mT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("representation", [T(3)(S(3)), T(4)(SO(3)), (PseudoScalar * T(2))(S(3)), V(O(2))], ids=str)
def test_projections_agree_with_the_dense_basis(representation: Representation, dtype: torch.dtype):
    basis = invariant_basis(representation)
    vectors = torch.randn(4, basis.size, dtype=dtype)
    dense = basis.dense().to(dtype)
    torch.testing.assert_close(basis.coefficients(vectors), vectors @ dense)
    torch.testing.assert_close(basis.project(vectors), vectors @ dense @ dense.mT)


def test_the_factored_form_gives_what_the_dense_one_gives(monkeypatch: pytest.MonkeyPatch):
    for group in (SO(4), Sp(2)):
        basis = invariant_basis(T(4)(group))
        vectors = torch.randn(3, basis.size, dtype=torch.float64)
        expected = basis.project(vectors)
        monkeypatch.setattr("emlp_rpp.solver.weight_basis.KEPT_BYTES", 0)
        torch.testing.assert_close(basis.project(vectors), expected)
        monkeypatch.undo()


def test_too_large_problems_are_refused_with_their_size():
    with pytest.raises(ProblemTooLargeError, match=r"254,803,968 index tuples need about .* GiB"):
        invariant_basis(T(5)(RubiksCube()))
    with pytest.raises(ProblemTooLargeError, match="halves of up to"):
        invariant_basis(T(14)(SO(5)))
    basis = invariant_basis(T(4)(SO(3)))
    with pytest.raises(ProblemTooLargeError, match="81 x 3"):
        basis.dense(limit_bytes=100)


def test_two_calls_give_the_same_numbers():
    one, two = (invariant_basis(T(5)(SO(3)), Options()).dense() for _ in range(2))
    assert torch.equal(one, two)
