"""The path for any group: forced on groups whose answer is known."""

import pytest
import torch

from emlp_rpp.errors import ProblemTooLargeError
from emlp_rpp.groups import SE, SO, SU, Group, S, Sp
from emlp_rpp.representations import T
from emlp_rpp.solver.constraint import Constraint
from emlp_rpp.solver.projection import project_to_null_space, solve_by_projection, solve_densely

LIMIT = 2**30


@pytest.mark.parametrize(
    ("group", "p", "q"), [(SO(3), 5, 0), (S(4), 4, 0), (Sp(1), 4, 0), (SU(2), 2, 2), (SE(2), 2, 2), (S(3), 5, 0)], ids=str
)
def test_projected_random_vectors_find_the_whole_null_space(group: Group, p: int, q: int):
    constraint = Constraint(T(p, q)(group).term)
    found, oracle = solve_by_projection(constraint, LIMIT), solve_densely(constraint)
    assert found.rank == oracle.rank
    a, b = found.matrix, oracle.matrix
    torch.testing.assert_close(a @ a.mH, b @ b.mH, atol=1e-9, rtol=0)
    assert found.certificate.residual < 1e-10
    assert found.certificate.gap > 1e6


def test_a_rank_of_zero_is_found():
    assert solve_by_projection(Constraint(T(5)(Sp(1)).term), LIMIT).rank == 0


def test_conjugate_gradients_project():
    constraint = Constraint(T(4)(SO(3)).term)
    oracle = solve_densely(constraint).matrix
    start = torch.randn(81, 3, dtype=torch.float64)
    torch.testing.assert_close(project_to_null_space(constraint, start), oracle @ (oracle.mT @ start), atol=1e-10, rtol=0)


def test_the_operator_is_the_dense_matrix():
    constraint = Constraint(T(1, 2)(SU(2)).term)
    vector = torch.randn(8, 2, dtype=torch.complex128)
    torch.testing.assert_close(constraint.gram(vector), constraint.dense.mH @ constraint.dense @ vector)


def test_no_partial_basis_when_memory_ends():
    with pytest.raises(ProblemTooLargeError, match="no partial basis"):
        solve_by_projection(Constraint(T(5)(S(4)).term), 3_000_000)
