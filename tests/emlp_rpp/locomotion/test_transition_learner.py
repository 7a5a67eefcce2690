"""Transition models: the suite of every learner, rollouts step by step, errors by loops."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from emlp_rpp.dynamics.measures import geometric_mean
from emlp_rpp.errors import InputSizeError
from emlp_rpp.locomotion import transitions
from emlp_rpp.locomotion.agents import AgentSettings
from emlp_rpp.locomotion.environments import ENVIRONMENTS, locomotion
from emlp_rpp.locomotion.transition_learner import TransitionLearning
from emlp_rpp.locomotion.transition_model import emlp_transitions, mlp_transitions, rpp_transitions
from emlp_rpp.locomotion.transitions import TransitionData
from emlp_rpp.pathways import PathwayPrior, negative_log_prior
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.protocol import Batch, TrainingPlan
from tests.contracts import LearnerContract
from tests.emlp_rpp.locomotion.recordings import recording

PRIOR = PathwayPrior(1e6, 3.0)


@pytest.fixture(scope="module")
def data() -> TransitionData:
    patch = pytest.MonkeyPatch()
    patch.setattr(transitions, "agent_record", lambda settings, root: recording("swimmer", 800))
    built = transitions.build(AgentSettings("swimmer"), "nowhere", 40, 10, 4, 30)
    patch.undo()
    return built


@pytest.fixture
def blobs(data: TransitionData) -> TransitionData:
    return data


class TransitionContract(LearnerContract):
    epochs = 30

    def test_learns(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        errors = []
        for _ in range(2):
            with torch.no_grad():
                errors.append((learner.predict(blobs.test.inputs) - blobs.test.targets).abs().mean().item())
            self.train(learner, blobs, range(self.epochs))
        assert errors[1] < errors[0] / 1.5


class TestMLP(TransitionContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> TransitionLearning:
        return TransitionLearning(mlp_transitions((28,), 80, "swimmer", 32, 2), plan, data, 5e-3)


class TestRPP(TransitionContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> TransitionLearning:
        return TransitionLearning(rpp_transitions((28,), 80, "swimmer", PRIOR, 32, 1), plan, data, 5e-3)


def test_a_rollout_adds_changes_step_by_step(data: TransitionData):
    model = mlp_transitions((28,), 80, "swimmer", 16, 1)
    state, expected = data.states[:, 0], []
    for step in range(10):
        state = state + model.change(torch.cat([state, data.actions[:, step]], dim=1))
        expected.append(state)
    torch.testing.assert_close(model(data.test.inputs).unflatten(1, (10, 8)), torch.stack(expected, 1))


def test_the_loss_is_the_norm_of_the_rollout_and_the_objective_adds_the_prior(data: TransitionData):
    torch.manual_seed(0)
    model = rpp_transitions((28,), 80, "swimmer", PRIOR, 16, 1)
    learner = TransitionLearning(model, TrainingPlan(40, 4, 1), data, gradient_limit=math.inf)
    batch = Batch(data.test.inputs, data.test.targets)
    expected = sum((model(x[None])[0] - y).abs().sum() for x, y in zip(batch.inputs, batch.targets)) / len(batch.targets)
    gradients = torch.autograd.grad(expected + negative_log_prior(model) / 40, list(model.parameters()))
    assert learner.step(batch)["loss"] == pytest.approx(expected.item(), rel=1e-5)
    for parameter, gradient in zip(model.parameters(), gradients):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


def test_long_gradients_are_shortened(data: TransitionData):
    torch.manual_seed(0)
    model = mlp_transitions((28,), 80, "swimmer", 16, 1)
    learner = TransitionLearning(model, TrainingPlan(40, 4, 1), data, gradient_limit=0.5)
    learner.step(Batch(data.test.inputs, data.test.targets))
    assert sum(float(each.grad.square().sum()) for each in model.parameters()) == pytest.approx(0.25, rel=1e-3)


def test_rollouts_stay_within_ten_times_the_recorded_states(data: TransitionData):
    """A model that multiplies its state a thousandfold at each step; its gradient is finite too."""
    torch.manual_seed(0)
    model = mlp_transitions((28,), 80, "swimmer", 16, 1)
    TransitionLearning(model, TrainingPlan(40, 4, 1), data)
    longest = max(float(state.norm()) for chunk in data.train.targets for state in chunk.view(-1, 8))
    start = torch.randn(3, 8, requires_grad=True)
    model.change = nn.Linear(10, 8)
    with torch.no_grad():
        model.change.weight.copy_(1000 * torch.eye(8, 10))
    states = model.follow(start, torch.zeros(3, 60, 2))
    torch.testing.assert_close(states[:, -1].norm(dim=-1), torch.full((3,), 10 * longest), rtol=1e-4, atol=0)
    states.sum().backward()
    assert bool(torch.isfinite(start.grad).all())


def test_what_is_measured(data: TransitionData):
    torch.manual_seed(0)
    model = mlp_transitions((28,), 80, "swimmer", 16, 1)
    learner = TransitionLearning(model, TrainingPlan(40, 40, 1), data)
    metrics = learner.final_metrics()
    assert set(metrics) == {
        "test/rollout_error_10", "test/rollout_error_30", "test/equivariance_error", "test/rollout_equivariance",
    }  # fmt: skip
    robot, errors, equivariance = data.robot, [], []
    with torch.no_grad():
        for trajectory, actions in zip(data.states, data.actions):
            state = trajectory[0]
            for step in range(10):
                state = state + model.change(torch.cat([state, actions[step]]))
                true = trajectory[step + 1]
                errors.append(float((state - true).norm() / (state.norm() + true.norm())))
            for state, action in zip(trajectory, actions):
                for element in robot.elements:
                    g, h = (torch.tensor(rho.matrix(element)).float() for rho in (robot.state, robot.action))
                    first = g @ model.change(torch.cat([state, action]))
                    second = model.change(torch.cat([g @ state, h @ action]))
                    equivariance.append(float((first - second).norm() / (first.norm() + second.norm())))
    assert metrics["test/rollout_error_10"] == pytest.approx(geometric_mean(np.array(errors)), rel=1e-4)
    assert metrics["test/equivariance_error"] == pytest.approx(geometric_mean(np.array(equivariance)), rel=1e-4)
    assert learner.arrays()["state_log_mean"].shape == (30,)


def test_an_equivariant_model_has_no_equivariance_error(data: TransitionData):
    torch.manual_seed(0)
    model = emlp_transitions((28,), 80, "swimmer", 32, 1).double()
    metrics = TransitionLearning(model, TrainingPlan(40, 40, 1), data).final_metrics()
    assert metrics["test/equivariance_error"] < 2e-6
    assert metrics["test/rollout_equivariance"] < 2e-6


@pytest.mark.parametrize("is_limited", [False, True])
@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_equivariant_models_of_every_robot_move_with_it(name, is_limited):
    torch.manual_seed(0)
    robot = locomotion(name)
    n, m = robot.state.size, robot.action.size
    model = emlp_transitions((n + 2 * m,), 2 * n, name, 32, 1).double()
    states, actions = torch.randn(3, n, dtype=torch.float64), torch.randn(3, 2, m, dtype=torch.float64)
    if is_limited:
        model.limit_states(0.05 * states)
    for element in robot.elements:
        g, h = (torch.tensor(rho.matrix(element)) for rho in (robot.state, robot.action))
        torch.testing.assert_close(model.follow(states @ g.T, actions @ h.T), model.follow(states, actions) @ g.T)


def test_models_and_data_of_different_robots_are_refused(data: TransitionData):
    with pytest.raises(ConfigError, match=r"model\.environment=hopper does not fit: .* 11 and 3 numbers"):
        mlp_transitions((28,), 80, "hopper")
    with pytest.raises(ConfigError, match="the data are of swimmer"):
        TransitionLearning(mlp_transitions((41,), 110, "hopper", 4, 1), TrainingPlan(40, 40, 1), data)
    with pytest.raises(ConfigError, match="learner=transitions needs recorded transitions"):
        TransitionLearning(torch.nn.Linear(2, 2), TrainingPlan(40, 40, 1), data)
    with pytest.raises(InputSizeError, match=r"\(2, 9\) does not fit: \(batch, 8 \+ T 2\)"):
        mlp_transitions((28,), 80, "swimmer", 4, 1)(torch.zeros(2, 9))
