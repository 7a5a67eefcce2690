import copy
import math

import torch
from torch import nn

from symlab.data.dataset import Dataset
from symlab.models import MLP
from symlab.trainer.map import MAP
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
