"""Regression that follows equivariance: the suite of every learner, and the measure against a loop over examples."""

import pytest
import torch
from torch import nn

from emlp_rpp.equivariance_study import EquivarianceStudy
from emlp_rpp.groups import O
from emlp_rpp.networks.augmentation import RandomElements
from emlp_rpp.pathways import PathwayEMLP, PathwayPrior, equivariance_errors
from emlp_rpp.representations import Scalar, V
from symlab.data.dataset import Dataset, Split
from symlab.errors import ConfigError
from symlab.trainer.protocol import TrainingPlan
from tests.contracts import LearnerContract


@pytest.fixture
def blobs() -> Dataset:
    """Inner products of two vectors in the place of classes."""
    generator = torch.Generator().manual_seed(0)

    def draw(count: int) -> Split:
        inputs = torch.randn(count, 6, generator=generator)
        return Split(inputs, (inputs[:, :3] * inputs[:, 3:]).sum(1, keepdim=True))

    return Dataset("products", draw(60), draw(30), draw(30), n_classes=0, mean=(0.0,) * 6, std=(1.0,) * 6)


def network() -> PathwayEMLP:
    return PathwayEMLP((2 * V)(O(3)), Scalar(O(3)), channels=16, layers=1, prior=PathwayPrior())


class TestEquivarianceStudy(LearnerContract):
    epochs = 12

    def build(self, data: Dataset, plan: TrainingPlan) -> EquivarianceStudy:
        return EquivarianceStudy(network(), plan, data, learning_rate=0.02, validations=6)

    def test_learns(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        self.train(learner, blobs, range(self.epochs))
        with torch.no_grad():
            error = (learner.predict(blobs.test.inputs) - blobs.test.targets).square().mean()
        assert error < 0.7 * blobs.test.targets.square().mean()

    def test_what_is_reported(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        self.train(learner, blobs, range(self.epochs))
        assert len(learner.errors) == 6
        expected = {"equivariance/quarter": learner.errors[1], "equivariance/half": learner.errors[2]}
        assert learner.final_metrics() == {**expected, "equivariance/end": learner.errors[5]}
        assert learner.arrays()["equivariance_errors"].tolist() == learner.errors


def test_the_error_is_equation_3_3_example_by_example():
    torch.manual_seed(0)
    model = network().double()
    nn.init.normal_(model.blocks[0].linear.residual.weight)
    x = torch.randn(5, 6, dtype=torch.float64)
    found = equivariance_errors(model, x, model.rep_in, model.rep_out, torch.Generator().manual_seed(3))
    elements = RandomElements.draw(O(3), 5, torch.Generator().manual_seed(3))
    moved = elements.apply(model.rep_in, x)
    with torch.no_grad():
        for at in range(5):
            first, second = model(x[at]), model(moved[at])  # the output is a scalar, which no element moves
            expected = (first - second).norm() / (first.norm() + second.norm())
            torch.testing.assert_close(found[at], expected, atol=1e-8, rtol=1e-8)
    assert (found > 1e-3).all()


def test_other_networks_are_refused(blobs: Dataset):
    with pytest.raises(ConfigError, match="needs a network with residual pathways"):
        EquivarianceStudy(nn.Linear(6, 1), TrainingPlan(60, 60, 1), blobs)
