import pytest
import torch

from emlp_rpp.pathways import PathwayConvNet, PathwayPrior, PathwayTraining, negative_log_prior
from symlab.data.dataset import Dataset, Split
from symlab.trainer.protocol import Batch, TrainingPlan
from tests.contracts import LearnerContract

PRIOR = PathwayPrior(1e5, 1.0)


def network(n_in: int, n_out: int) -> PathwayConvNet:
    return PathwayConvNet((n_in,), n_out, PRIOR, channels=(4,), image_shape=(2, 2))


class TestPathwayTraining(LearnerContract):
    epochs = 30

    def build(self, data: Dataset, plan: TrainingPlan) -> PathwayTraining:
        return PathwayTraining(PathwayConvNet(data.input_shape, 3, PRIOR, channels=(4,)), plan, data, learning_rate=0.02)


def rows(count: int, seed: int) -> Split:
    inputs = torch.randn(count, 3, generator=torch.Generator().manual_seed(seed))
    return Split(inputs, inputs[:, 0] - inputs[:, 2])


def test_the_objective_is_the_negative_log_posterior_over_the_number_of_examples():
    data = Dataset("line", rows(20, 0), None, rows(10, 1), 0, (0.0,) * 3, (1.0,) * 3, target_std=3.0)
    torch.manual_seed(0)
    learner = PathwayTraining(network(3, 1), TrainingPlan(20, 20, 1), data)
    model = learner.model.train()
    batch = Batch(data.train.inputs, data.train.targets)
    loss = 0.5 * (model(batch.inputs)[:, 0] - batch.targets).square().mean()
    expected = torch.autograd.grad(loss + negative_log_prior(model) / 20, list(model.parameters()))
    learner.step(batch)
    for parameter, gradient in zip(model.parameters(), expected):
        torch.testing.assert_close(parameter.grad, gradient)
    error = (learner.predict(data.test.inputs)[:, 0] - data.test.targets).square().mean().item()
    assert learner.final_metrics()["test/mse_in_units"] == pytest.approx(9 * error, rel=1e-5)
