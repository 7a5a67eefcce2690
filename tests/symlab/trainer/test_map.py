import copy
import math

import pytest
import torch
from torch import nn

from symlab.data.dataset import Dataset
from symlab.models import MLP
from symlab.trainer.map import MAP, cosine_annealed, negative_log_likelihood
from symlab.trainer.protocol import Batch, Learner, TrainingPlan
from tests.contracts import LearnerContract


class TestMAP(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return MAP(MLP(data.input_shape, data.n_outputs, [16]), plan)


def test_step_equals_adam_on_the_objective_with_the_prior_written_out():
    """Oracle: autograd through mean NLL + delta/(2N) |theta|^2, then Adam without weight decay."""
    torch.manual_seed(0)
    model = nn.Linear(5, 3).double()
    other = copy.deepcopy(model)
    plan, delta = TrainingPlan(train_size=7, batch_size=7, epochs=4), 3.0
    learner = MAP(model, plan, prior_precision=delta, learning_rate=0.1, final_learning_rate=0.01)
    optimizer = torch.optim.Adam(other.parameters(), lr=0.1)
    batch = Batch(torch.randn(7, 5, dtype=torch.float64), torch.arange(7) % 3)
    for step in range(plan.total_steps):
        learner.step(batch)
        optimizer.param_groups[0]["lr"] = 0.01 + 0.5 * 0.09 * (1 + math.cos(math.pi * step / plan.total_steps))
        optimizer.zero_grad()
        prior = sum(parameter.square().sum() for parameter in other.parameters())
        (nn.functional.cross_entropy(other(batch.inputs), batch.targets) + delta / (2 * 7) * prior).backward()
        optimizer.step()
    for ours, oracle in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours, oracle, rtol=1e-10, atol=1e-10)


def test_cosine_starts_and_ends_where_it_should():
    assert cosine_annealed(0.1, 0.001, 0, 10) == pytest.approx(0.1)
    assert cosine_annealed(0.1, 0.001, 5, 10) == pytest.approx(0.0505)
    assert cosine_annealed(0.1, 0.001, 10, 10) == pytest.approx(0.001)


def test_regression_likelihood_is_that_of_a_unit_gaussian():
    outputs, targets = torch.randn(6, 2), torch.randn(6, 2)
    density = torch.distributions.Normal(outputs, 1.0).log_prob(targets).sum(-1).mean()
    expected = -density - math.log(2 * math.pi)  # two outputs, each with half of log 2 pi
    torch.testing.assert_close(negative_log_likelihood(outputs, targets), expected)
