"""The double spring: derivatives of the Hamiltonian, what its motion conserves, symmetry, chunks."""

import numpy as np
import pytest
import torch

from emlp_rpp.data.double_spring import angular_momentum, build, derivative, hamiltonian, initial_states, integrate
from emlp_rpp.groups import Embedded, O
from emlp_rpp.representations import V
from symlab.errors import DataError


def test_the_hamiltonian_of_a_state_by_hand():
    state = np.array([0.0, 0.0, -1.5, 0.0, 0.0, -3.5, 0.4, 0.0, 0.0, 0.0, 0.2, 0.1])
    kinetic = (0.16 + 0.04 + 0.01) / 2
    assert hamiltonian(state) == pytest.approx(kinetic + 0.5 * 0.5**2 + 0.5 * 1.0**2 - 1.5 - 3.5)


def test_the_motion_is_j_times_the_gradient_of_the_hamiltonian():
    states = initial_states(4, np.random.default_rng(0))
    step = 1e-6
    gradient = np.zeros_like(states)
    for i, unit in enumerate(np.eye(12)):
        gradient[:, i] = (hamiltonian(states + step * unit) - hamiltonian(states - step * unit)) / (2 * step)
    expected = np.concatenate([gradient[:, 6:], -gradient[:, :6]], axis=1)
    np.testing.assert_allclose(derivative(states), expected, atol=1e-8)


def test_energy_and_angular_momentum_are_conserved_for_thirty_seconds():
    states = integrate(initial_states(3, np.random.default_rng(0)), 150)
    np.testing.assert_allclose(hamiltonian(states), hamiltonian(states[:, :1]).repeat(150, 1), atol=1e-6)
    np.testing.assert_allclose(angular_momentum(states), angular_momentum(states[:, :1]).repeat(150, 1), atol=1e-6)


def test_angular_momentum_is_the_cross_product():
    state = initial_states(1, np.random.default_rng(0))[0]
    x1, x2, p1, p2 = state.reshape(4, 3)
    assert angular_momentum(state) == pytest.approx((np.cross(x1, p1) + np.cross(x2, p2))[2])


def test_moved_initial_states_have_moved_trajectories():
    generator = np.random.default_rng(0)
    states = initial_states(2, generator)
    group = Embedded(O(2))
    matrix = (4 * V)(group).matrix(group.random_element(generator))
    np.testing.assert_allclose(integrate(states @ matrix.T, 20), integrate(states, 20) @ matrix.T, atol=1e-6)
    np.testing.assert_allclose(hamiltonian(states @ matrix.T), hamiltonian(states))


def test_initial_states_are_distributed_as_printed():
    states = initial_states(20_000, np.random.default_rng(0))
    np.testing.assert_allclose(states.mean(0), [0, 0, -1.5, 0, 0, -3] + [0] * 6, atol=0.02)
    np.testing.assert_allclose(states.std(0), [0.2] * 6 + [0.4] * 6, rtol=0.03)


def test_chunks_are_parts_of_trajectories():
    data = build(6, 2, 4, rollout_size=3, chunk_points=5, points=20, seed=1)
    assert data.train.inputs.shape == (6, 12)
    assert data.train.targets.shape == (6, 48)
    assert data.n_outputs == 48
    assert data.rollouts.shape == (3, 20, 12)
    whole = integrate(data.rollouts[:, 0].numpy(), 20)
    np.testing.assert_allclose(data.rollouts, whole, atol=1e-6)
    chunks = torch.cat([data.test.inputs[:, None], data.test.targets.unflatten(1, (4, 12))], dim=1)
    for chunk, trajectory in zip(chunks, data.rollouts.float()):
        assert any(torch.equal(chunk, trajectory[start : start + 5]) for start in range(0, 20, 5))
    again = build(6, 2, 4, rollout_size=3, chunk_points=5, points=20, seed=1)
    assert again.fingerprint() == data.fingerprint()
    assert data.to("cpu").rollouts is data.rollouts


def test_sizes_are_checked():
    with pytest.raises(DataError, match="rollout_size=5"):
        build(2, 2, 2, rollout_size=5, points=10)
    with pytest.raises(DataError, match=r"chunk_points=1"):
        build(2, 2, 2, rollout_size=1, chunk_points=1, points=10)
