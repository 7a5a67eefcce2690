import numpy as np
import pytest
import torch

from emlp_rpp.convergence import Convergence, spectrum
from emlp_rpp.errors import ProblemTooLargeError
from emlp_rpp.groups import SO, Group, S
from emlp_rpp.representations import T
from emlp_rpp.solver import invariant_basis
from emlp_rpp.solver.constraint import Constraint


@pytest.mark.parametrize(("group", "rank"), [(SO(3), 3), (S(4), 3)], ids=str)
def test_residuals_are_those_of_the_matrix_iteration(group: Group, rank: int):
    """X_t = (1 - eta C^T C)^t X_0 with the matrix itself (thesis, Eq. A.8)."""
    matrix = Constraint(T(rank)(group).term).dense
    squares = torch.linalg.svdvals(matrix).square()
    kept = squares[squares > 1e-9]
    start = torch.randn(matrix.shape[1], 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    vectors, expected = start, []
    for _ in range(11):
        expected.append(float((matrix @ vectors).norm() / (kept[0].sqrt() * start.norm())))
        vectors = vectors - 2 / (kept[0] + kept[-1]) * matrix.T @ matrix @ vectors
    computed = Convergence(group, rank, columns=5, iterations=10).compute()
    np.testing.assert_allclose(computed.arrays["descent"], expected, rtol=1e-8, atol=1e-14)
    assert computed.metrics["condition"] == pytest.approx(float(kept[0] / kept[-1]))
    assert computed.metrics["rank"] == invariant_basis(T(rank)(group)).rank


def test_conjugate_gradients_reach_rounding_and_stay_there():
    computed = Convergence(SO(3), 4, iterations=40).compute()
    residuals = computed.arrays["conjugate"]
    assert residuals[10:].max() < 1e-14
    assert (residuals <= computed.arrays["descent"] + 1e-15).all()
    assert computed.metrics["conjugate/iterations"] < 10
    assert "descent/iterations" not in computed.metrics  # not reached


def test_a_spectrum_that_is_too_large_is_refused():
    with pytest.raises(ProblemTooLargeError, match="too many for a whole spectrum"):
        spectrum(Constraint(T(8)(SO(3)).term))
