import numpy as np
import pytest

from emlp_rpp.dynamics.measures import geometric_mean, relative_error


def test_relative_errors_by_hand():
    assert relative_error(np.array([3.0, 0.0]), np.array([0.0, 4.0])) == pytest.approx(5 / 7)
    assert relative_error(np.zeros(2), np.zeros(2)) == 0.0


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf, 1e200])
def test_a_prediction_that_is_lost_has_the_largest_error(lost: float):
    assert relative_error(np.array([lost, 1.0]), np.array([1.0, 1.0])) == pytest.approx(1.0)


def test_geometric_means_have_a_floor():
    assert geometric_mean(np.array([0.1, 0.001])) == pytest.approx(0.01)
    assert geometric_mean(np.array([0.0, 0.1])) == pytest.approx(1e-4)
