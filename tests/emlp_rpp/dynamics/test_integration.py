import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from emlp_rpp.data.double_spring import derivative, initial_states, integrate
from emlp_rpp.dynamics import runge_kutta
from emlp_rpp.dynamics.measures import relative_error


def field(states: torch.Tensor) -> torch.Tensor:
    return torch.tensor(derivative(states.numpy()))


def test_steps_of_a_twentieth_of_a_second_follow_scipy_for_thirty_seconds():
    states = initial_states(3, np.random.default_rng(0))
    ours = runge_kutta(field, torch.tensor(states), 149, 0.2, 4).numpy()
    for state, trajectory in zip(states, ours):
        solved = solve_ivp(
            lambda _, z: derivative(z), (0, 29.8), state, "DOP853", 0.2 * np.arange(150), rtol=1e-11, atol=1e-11
        )
        assert relative_error(trajectory, solved.y.T[1:]).max() < 2e-6


def test_the_steps_of_training_follow_a_chunk():
    states = initial_states(20, np.random.default_rng(0))
    true = integrate(states, 5)[:, 1:]
    assert relative_error(runge_kutta(field, torch.tensor(states), 4, 0.2, 2).numpy(), true).max() < 1e-6
    assert relative_error(runge_kutta(field, torch.tensor(states), 4, 0.2, 1).numpy(), true).max() < 2e-5


def test_it_is_of_fourth_order():
    start, exact = torch.ones(1, 1, dtype=torch.float64), np.exp(-2.0)
    errors = [abs(runge_kutta(lambda z: -z, start, 1, 2.0, steps)[0, 0, 0].item() - exact) for steps in (10, 20)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)


def test_its_gradient_is_that_of_differences():
    states = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: runge_kutta(lambda x: torch.sin(x) - x.flip(1), z, 2, 0.1, 2), states)
