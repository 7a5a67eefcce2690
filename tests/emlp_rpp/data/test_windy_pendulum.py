"""The wind's force, against the Hamiltonian and against the pendulum without it."""

import numpy as np
import pytest
import torch

from emlp_rpp.data import double_spring, windy_pendulum
from emlp_rpp.data.double_spring import derivative, hamiltonian, initial_states, integrate
from symlab.errors import DataError

SIZES = {"train_size": 6, "validation_size": 2, "test_size": 3, "rollout_size": 2, "points": 20}
FORCE = 0.01 * np.array(windy_pendulum.DIRECTION)


def energy(states: np.ndarray) -> np.ndarray:
    """H_0 + epsilon H_1 as printed."""
    return hamiltonian(states) - states[..., :3] @ FORCE - states[..., 3:6] @ FORCE


def test_the_field_is_that_of_the_printed_hamiltonian():
    state, step = initial_states(1, np.random.default_rng(0))[0], 1e-6
    gradient = np.array([(energy(state + step * e) - energy(state - step * e)) / (2 * step) for e in np.eye(12)])
    expected = np.concatenate([gradient[6:], -gradient[:6]])
    np.testing.assert_allclose(derivative(state, FORCE), expected, atol=1e-8)


def test_its_energy_is_conserved_and_that_without_wind_is_not():
    states = integrate(initial_states(3, np.random.default_rng(0)), 40, force=FORCE)
    assert np.abs(energy(states) - energy(states[:, :1])).max() < 1e-7
    assert np.abs(hamiltonian(states) - hamiltonian(states[:, :1])).max() > 1e-3


def test_without_wind_it_is_the_double_spring():
    calm, usual = windy_pendulum.build(wind=0.0, **SIZES), double_spring.build(**SIZES)
    torch.testing.assert_close(calm.train.targets, usual.train.targets)
    windy = windy_pendulum.build(**SIZES)
    torch.testing.assert_close(windy.rollouts[:, 0], usual.rollouts[:, 0])  # the same initial conditions
    assert not torch.allclose(windy.rollouts, usual.rollouts, atol=1e-3)
    assert windy.name == "pendulum in a wind of 0.01"


def test_a_wind_that_is_no_number_is_refused():
    with pytest.raises(DataError, match=r"data\.wind=nan"):
        windy_pendulum.build(wind=float("nan"), **SIZES)
