"""Counts agree with each other and with the solver."""

import pytest

from emlp_rpp import counting
from emlp_rpp.groups import SO, SU, O, RubiksCube, S, Sp, Z
from emlp_rpp.groups.rubiks_cube import ORDER
from emlp_rpp.representations import T
from emlp_rpp.solver import invariant_basis


def test_bell_numbers():
    assert [counting.bell(k) for k in range(8)] == [1, 1, 2, 5, 15, 52, 203, 877]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_orbits_of_permutations(n: int, k: int):
    assert invariant_basis(T(k)(S(n))).rank == counting.symmetric_count(n, k)
    assert invariant_basis(T(k)(Z(n))).rank == counting.cyclic_count(n, k)


def test_the_cube_by_burnside():
    corners, edges = counting._oriented_permutations(8, 3), counting._oriented_permutations(12, 2)
    assert sum(sum(corners[s].values()) * sum(edges[s].values()) for s in (1, -1)) == ORDER
    assert [counting.rubiks_cube_count(k) for k in range(5)] == [1, 2, 9, 51, 350]
    for k in (1, 2, 3):
        assert invariant_basis(T(k)(RubiksCube())).rank == counting.rubiks_cube_count(k)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_rotations_by_tableaux_and_by_weights(n: int):
    weights, roots = counting.rotation_data(n)
    for k in range(2, 8):
        count = counting.orthogonal_count(n, k, special=True)
        assert counting.weight_count([weights] * k, roots) == count
        if n**k < 20_000:
            assert invariant_basis(T(k)(SO(n))).rank == count
            assert invariant_basis(T(k)(O(n))).rank == counting.orthogonal_count(n, k)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_symplectic_groups_by_tableaux_and_by_weights(n: int):
    weights, roots = counting.symplectic_data(n)
    for k in range(2, 7):
        count = counting.symplectic_count(n, k)
        assert counting.weight_count([weights] * k, roots) == count
        if (2 * n) ** k < 20_000:
            assert invariant_basis(T(k)(Sp(n))).rank == count


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(("p", "q"), [(3, 0), (3, 1), (2, 2), (4, 0), (4, 1), (1, 4)])
def test_unitary_groups_by_tableaux_and_by_weights(n: int, p: int, q: int):
    weights, roots = counting.special_linear_data(n)
    duals = [tuple(-entry for entry in weight) for weight in weights]
    count = counting.unitary_count(n, p, q)
    assert counting.weight_count([weights] * p + [duals] * q, roots) == count
    assert invariant_basis(T(p, q)(SU(n))).rank == count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "count"),
    [
        (SO(6), counting.orthogonal_count(6, 8, True)),
        (SO(7), counting.orthogonal_count(7, 8, True)),
        (O(7), counting.orthogonal_count(7, 8)),
        (Sp(4), counting.symplectic_count(4, 8)),
    ],
    ids=str,
)
def test_eighth_powers(group, count: int):
    basis = invariant_basis(T(8)(group))
    assert basis.rank == count
    assert basis.certificate.residual < 1e-10
