"""Early stopped regression: the suite of every learner on a linear problem, and which weights are kept."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from emlp_rpp.groups import O
from emlp_rpp.models import AugmentedPlain, Signature
from emlp_rpp.pathways import PathwayEMLP, PathwayPrior, negative_log_prior
from emlp_rpp.regression import Regression
from emlp_rpp.representations import Scalar, V
from symlab.data.dataset import Dataset, Split
from symlab.errors import ConfigError
from symlab.trainer.protocol import Batch, TrainingPlan
from tests.contracts import LearnerContract


@pytest.fixture
def blobs() -> Dataset:
    """Real targets of two values in the place of classes."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(4, 2, generator=generator)

    def draw(count: int) -> Split:
        inputs = torch.randn(count, 4, generator=generator)
        return Split(inputs, inputs @ weight)

    return Dataset("line", draw(60), draw(30), draw(30), n_classes=0, mean=(0.0,) * 4, std=(1.0,) * 4)


class TestRegression(LearnerContract):
    epochs = 60

    def build(self, data: Dataset, plan: TrainingPlan) -> Regression:
        return Regression(nn.Linear(4, 2), plan, data, learning_rate=0.05, validations=20)

    def test_learns(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        self.train(learner, blobs, range(self.epochs))
        with torch.no_grad():
            error = (learner.predict(blobs.test.inputs) - blobs.test.targets).square().mean()
        assert error < 0.01


def test_the_weights_of_the_lowest_validation_error_are_evaluated(blobs: Dataset):
    torch.manual_seed(0)
    learner = Regression(nn.Linear(4, 2), TrainingPlan(60, 60, 40), blobs, learning_rate=0.3, validations=8)
    assert learner.every == 5
    errors, weights = [], []
    for epoch in range(40):
        learner.step(Batch(blobs.train.inputs, blobs.train.targets))
        state = {name: value.clone() for name, value in learner.model.state_dict().items()}
        logged = learner.end_epoch(epoch)
        assert bool(logged) == ((epoch + 1) % 5 == 0)
        if logged:
            errors.append(logged["validation/mse"])
            weights.append(state)
            outputs = blobs.validation.inputs @ state["weight"].T + state["bias"]
            assert errors[-1] == pytest.approx((outputs - blobs.validation.targets).square().mean().item(), rel=1e-4)
    best = weights[errors.index(min(errors))]
    assert all(torch.equal(value, best[name]) for name, value in learner.model.state_dict().items())


def test_the_loss_is_the_mean_square(blobs: Dataset):
    model = nn.Linear(4, 2)
    batch = Batch(blobs.train.inputs, blobs.train.targets)
    expected = (model(batch.inputs) - batch.targets).square().sum().item() / batch.targets.numel()
    assert Regression(model, TrainingPlan(60, 60, 1), blobs).step(batch)["loss"] == pytest.approx(expected)


def test_an_augmented_network_is_trained_on_moved_pairs_and_evaluated_on_unmoved_ones():
    signature = Signature((3, 0), vectors=2, output_rank=2)
    torch.manual_seed(0)
    model = AugmentedPlain("full", 16, 1).build(signature)
    x, y = torch.randn(8, 6), torch.randn(8, 9)
    moved, turned = model.augment(x, y)
    torch.testing.assert_close(moved.unflatten(1, (2, 3)).norm(dim=2), x.unflatten(1, (2, 3)).norm(dim=2))
    torch.testing.assert_close(turned.norm(dim=1), y.norm(dim=1))
    assert not torch.allclose(moved, x)
    data = Dataset("pairs", Split(x, y), Split(x, y), Split(x, y), n_classes=0, mean=(0.0,) * 6, std=(1.0,) * 6)
    learner = Regression(model, TrainingPlan(8, 8, 1), data)
    torch.manual_seed(1)
    loss = learner.step(Batch(x, y))["loss"]
    torch.manual_seed(0)
    fresh = AugmentedPlain("full", 16, 1).build(signature)
    torch.manual_seed(1)
    moved, turned = fresh.augment(x, y)
    assert loss == pytest.approx((fresh.network(moved) - turned).square().mean().item())
    assert torch.equal(fresh(x), fresh.network(x))


def test_the_prior_of_pathways_counts_once_for_all_examples(blobs: Dataset):
    torch.manual_seed(0)
    rep = (Scalar + V)(O(3))
    model = PathwayEMLP(rep, (2 * Scalar)(O(3)), channels=8, layers=1, prior=PathwayPrior(3.0, 0.5))
    x, y = blobs.train.inputs[:20], blobs.train.targets[:20]
    objective = (model(x) - y).square().mean() + negative_log_prior(model) / 60
    expected = torch.autograd.grad(objective, list(model.parameters()))
    learner = Regression(model, TrainingPlan(60, 20, 1), blobs)
    learner.step(Batch(x, y))
    for parameter, gradient in zip(model.parameters(), expected):
        torch.testing.assert_close(parameter.grad, gradient)


def test_data_without_validation_or_with_classes_are_refused(blobs: Dataset):
    plan = TrainingPlan(60, 60, 1)
    with pytest.raises(ConfigError, match="validation set"):
        Regression(nn.Linear(4, 2), plan, replace(blobs, validation=None))
    flat = replace(blobs, train=Split(blobs.train.inputs, blobs.train.targets[:, 0]))
    with pytest.raises(ConfigError, match=r"targets \(N, D\)"):
        Regression(nn.Linear(4, 2), plan, flat)
    with pytest.raises(ConfigError, match=r"learner\.validations=0"):
        Regression(nn.Linear(4, 2), plan, blobs, validations=0)
