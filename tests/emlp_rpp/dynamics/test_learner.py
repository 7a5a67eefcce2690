"""The learner of dynamics: the suite of every learner, rollouts and what is measured of them."""

import numpy as np
import pytest
import torch
from torch import nn

from emlp_rpp.data.double_spring import TrajectoryData, angular_momentum, build
from emlp_rpp.dynamics import Dynamics, hamiltonian_flow, neural_ode
from emlp_rpp.models import Plain
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.protocol import TrainingPlan
from tests.contracts import LearnerContract


@pytest.fixture(scope="module")
def trajectories() -> TrajectoryData:
    return build(40, 10, 10, rollout_size=3, points=20)


@pytest.fixture
def blobs(trajectories: TrajectoryData) -> TrajectoryData:
    return trajectories


class DynamicsContract(LearnerContract):
    epochs = 40

    def test_learns(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        errors = []
        for _ in range(2):
            with torch.no_grad():
                errors.append((learner.predict(blobs.test.inputs) - blobs.test.targets).square().mean().item())
            self.train(learner, blobs, range(self.epochs))
        assert errors[1] < errors[0] / 2


class TestNeuralODE(DynamicsContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Dynamics:
        return Dynamics(neural_ode((12,), 48, Plain(32, 2), steps_per_interval=1), plan, data, validations=5)


class TestHamiltonian(DynamicsContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Dynamics:
        return Dynamics(hamiltonian_flow((12,), 48, Plain(32, 2), steps_per_interval=1), plan, data, validations=5)


def test_what_is_measured_of_a_rollout(trajectories: TrajectoryData):
    torch.manual_seed(0)
    flow = neural_ode((12,), 48, Plain(16, 1))
    learner = Dynamics(flow, TrainingPlan(40, 40, 1), trajectories, rollout_steps=2)
    assert learner.rollouts.shape == (3, 20, 12)
    with torch.no_grad():
        step = flow.follow(trajectories.rollouts[:, 0].float(), 1, 2)[:, 0]
    np.testing.assert_allclose(learner.rollouts[:, 1], step, rtol=1e-6)
    state, momentum = [], []
    for predicted, true in zip(learner.rollouts.reshape(-1, 12), trajectories.rollouts.numpy().reshape(-1, 12)):
        error = np.linalg.norm(predicted - true) / (np.linalg.norm(predicted) + np.linalg.norm(true))
        state.append(max(error, 1e-7))
        ours, theirs = angular_momentum(predicted), angular_momentum(true)
        momentum.append(max(abs(ours - theirs) / (abs(ours) + abs(theirs)), 1e-7))
    found = learner.final_metrics()
    assert found["test/rollout_error"] == pytest.approx(np.prod(np.array(state) ** (1 / 60)))
    assert found["test/angular_momentum_error"] == pytest.approx(np.prod(np.array(momentum) ** (1 / 60)))
    arrays = learner.arrays()
    assert arrays["state_log_mean"].mean() == pytest.approx(np.log(found["test/rollout_error"]))
    assert arrays["true"].shape == arrays["predicted"].shape == (20, 12)


def test_it_needs_trajectories_and_a_flow(trajectories: TrajectoryData):
    with pytest.raises(ConfigError, match="needs trajectories and a flow"):
        Dynamics(nn.Linear(12, 48), TrainingPlan(40, 40, 1), trajectories)
