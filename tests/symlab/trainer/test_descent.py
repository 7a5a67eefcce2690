import copy
import math

import pytest
import torch
from torch import nn

from symlab.errors import ConfigError
from symlab.trainer.descent import (
    PosteriorDescent,
    cosine_annealed,
    hyperparameter_names,
    negative_log_likelihood,
    weights_of,
)
from symlab.trainer.protocol import Batch, TrainingPlan


class Stretched(nn.Module):
    """A linear layer whose input is stretched by a hyperparameter."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 3)
        self.length = nn.Parameter(torch.ones(5))

    def hyperparameters(self):
        return ["length"]

    def forward(self, inputs):
        return self.linear(inputs * self.length)


@pytest.mark.parametrize("large", [2**20, 9], ids=["small tensors", "some large tensors"])
def test_each_tensor_has_its_own_prior_and_a_hyperparameter_none(large, monkeypatch):
    """Oracle: autograd through mean NLL + sum_g delta_g/(2N) |theta_g|^2, then Adam without weight decay."""
    monkeypatch.setattr("symlab.trainer.descent.LARGE", large)
    torch.manual_seed(0)
    model = nn.Sequential(Stretched(), nn.Tanh(), nn.Linear(3, 3)).double()
    other = copy.deepcopy(model)
    plan = TrainingPlan(train_size=20, batch_size=7, epochs=2)
    deltas = {name: 0.5 + index for index, name in enumerate(weights_of(model))}
    descent = PosteriorDescent(model, plan, deltas, learning_rate=0.1, final_learning_rate=0.01)
    optimizer = torch.optim.Adam(other.parameters(), lr=0.1)
    batch = Batch(torch.randn(7, 5, dtype=torch.float64), torch.arange(7) % 3)
    for step in range(plan.total_steps):
        if step == 3:
            deltas = {name: 10 * delta for name, delta in deltas.items()}
            descent.precisions = deltas
        descent.step(batch)
        optimizer.param_groups[0]["lr"] = 0.01 + 0.5 * 0.09 * (1 + math.cos(math.pi * step / plan.total_steps))
        optimizer.zero_grad()
        prior = sum(delta * weights_of(other)[name].square().sum() for name, delta in deltas.items())
        (nn.functional.cross_entropy(other(batch.inputs), batch.targets) + prior / (2 * 20)).backward()
        optimizer.step()
    assert set(deltas) == {"0.linear.weight", "0.linear.bias", "2.weight", "2.bias"}
    for ours, oracle in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours, oracle, rtol=1e-10, atol=1e-10)
    assert not torch.equal(model[0].length, torch.ones(5))  # trained along


def test_hyperparameters_are_named_in_full():
    assert hyperparameter_names(nn.Sequential(nn.ReLU(), Stretched())) == ["1.length"]
    assert hyperparameter_names(Stretched()) == ["length"]


def test_a_hyperparameter_that_is_not_there_is_refused():
    layer = Stretched()
    layer.hyperparameters = lambda: ["width"]
    with pytest.raises(ConfigError, match=r"names 'width', which is no parameter of '0'"):
        hyperparameter_names(nn.Sequential(layer))


def test_cosine_starts_and_ends_where_it_should():
    assert cosine_annealed(0.1, 0.001, 0, 10) == pytest.approx(0.1)
    assert cosine_annealed(0.1, 0.001, 5, 10) == pytest.approx(0.0505)
    assert cosine_annealed(0.1, 0.001, 10, 10) == pytest.approx(0.001)


def test_regression_likelihood_is_that_of_a_unit_gaussian():
    outputs, targets = torch.randn(6, 2), torch.randn(6, 2)
    density = torch.distributions.Normal(outputs, 1.0).log_prob(targets).sum(-1).mean()
    expected = -density - math.log(2 * math.pi)  # two outputs, each with half of log 2 pi
    torch.testing.assert_close(negative_log_likelihood(outputs, targets), expected)


class WithSlowScalars(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.scale = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(1))

    def learning_rate_factors(self):
        return {"scale": 0.1}

    def forward(self, inputs):
        return self.scale * (inputs * self.weight)


def test_another_optimiser_and_slower_parameters():
    """SGD without momentum: each step is the rate (times the factor) times the gradient."""
    model = nn.Sequential(WithSlowScalars())
    plan = TrainingPlan(train_size=4, batch_size=4, epochs=1)
    precisions = {"0.weight": 0.0, "0.scale": 0.0}
    descent = PosteriorDescent(model, plan, precisions, 0.5, 0.5, optimizer=torch.optim.SGD)
    batch = Batch(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))
    gradients = torch.autograd.grad(negative_log_likelihood(model(batch.inputs), batch.targets), list(model.parameters()))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    descent.step(batch)
    for old, new, gradient, rate in zip(before, model.parameters(), gradients, (0.5, 0.05), strict=True):
        torch.testing.assert_close(new.detach(), old - rate * gradient)


def test_only_what_is_trained_is_updated():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 3))
    plan = TrainingPlan(train_size=4, batch_size=4, epochs=1)
    precisions = dict.fromkeys(weights_of(model), 0.0)
    before = model[0].weight.detach().clone(), model[1].weight.detach().clone()
    descent = PosteriorDescent(model, plan, precisions, 0.5, 0.5, trained=model[1].parameters())
    descent.step(Batch(torch.randn(4, 3), torch.tensor([0, 1, 2, 0])))
    assert torch.equal(model[0].weight, before[0])
    assert not torch.equal(model[1].weight, before[1])


def test_factors_of_parameters_that_do_not_exist_are_refused():
    model = WithSlowScalars()
    model.learning_rate_factors = lambda: {"shift": 0.1}
    with pytest.raises(ConfigError, match=r"learning_rate_factors.*'shift'"):
        PosteriorDescent(model, TrainingPlan(4, 4, 1), {}, 0.1, 0.1)
