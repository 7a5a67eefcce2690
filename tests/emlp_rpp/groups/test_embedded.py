import numpy as np
import pytest
import torch

from emlp_rpp.groups import P4, SO, D, Embedded, Group, O
from emlp_rpp.representations import T
from emlp_rpp.solver import invariant_basis


@pytest.mark.parametrize("inner", [SO(2), O(2), D(6), SO(3)], ids=str)
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_the_solver_by_weights_agrees_with_the_general_one(inner: Group, rank: int):
    embedded = Embedded(inner)
    plain = Group("without weights", discrete=embedded.discrete, algebra=embedded.algebra)
    ours, general = (invariant_basis(T(rank)(group)).dense() for group in (embedded, plain))
    torch.testing.assert_close(ours @ ours.T, general @ general.T, rtol=0, atol=1e-10)


def test_further_coordinates_are_left_alone():
    group = Embedded(O(2), still=2)
    matrix = group.matrix(group.random_element(np.random.default_rng(0)))
    np.testing.assert_allclose(matrix[2:], np.eye(4)[2:])
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(4), atol=1e-12)


@pytest.mark.parametrize("n", [2, 3])
def test_p4_is_a_semidirect_product_of_its_order(n: int):
    group = P4(n)
    assert group.order() == 4 * n**2
    turn, shifts = group.discrete[2], group.discrete[:2]
    assert np.array_equal(np.linalg.matrix_power(turn, 4), np.eye(group.dimension))
    moved = turn @ shifts[0] @ turn.T
    powers = [np.linalg.matrix_power(shifts[1], power) for power in range(n)]
    assert any(np.array_equal(moved, power) for power in powers)
