import copy

import pytest
import torch

from lila.affine import AffineDistribution
from lila.augerino import Augerino
from lila.distribution import Unchanged
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.models import MLP
from symlab.trainer.batches import derived_generator, epoch_batches
from symlab.trainer.descent import negative_log_likelihood
from symlab.trainer.protocol import Batch, Learner, TrainingPlan
from tests.contracts import LearnerContract


def network(data: Dataset) -> MLP:
    return MLP(data.input_shape, data.n_outputs, [16], "tanh")


class TestAugerino(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return Augerino(network(data), plan, data, 0, AffineDistribution, samples=4, learning_rate=0.02)


def test_a_step_descends_the_loss_in_weights_and_eta(blobs):
    """Against the loss written out; plain gradient steps, so that each update is the rate times the gradient."""
    torch.manual_seed(0)
    eta = (0.13, -0.21, 0.4, 0.22, -0.17, 0.3)
    learner = Augerino(
        network(blobs).double(),
        TrainingPlan(60, 20, 1),
        blobs,
        seed=0,
        distribution=lambda: AffineDistribution(eta),
        samples=4,
        strength=0.3,
        weight_decay=0.2,
        optimizer=torch.optim.SGD,
        learning_rate=0.1,
    )
    learner.invariance_optimizer = torch.optim.SGD(learner.learnt, lr=0.005)
    batch = next(epoch_batches(blobs, 20, "none", seed=0, epoch=0))
    batch = Batch(batch.inputs.double(), batch.targets)
    oracle = copy.deepcopy(learner.averaged)
    outputs = oracle(oracle.copies(batch.inputs, derived_generator(0, "copies", 0)))
    weights = list(oracle.network.parameters())
    decay = 0.1 * sum(weight.square().sum() for weight in weights)
    shown = negative_log_likelihood(outputs, batch.targets) - 0.3 * oracle.distribution.eta.square().sum().sqrt()
    gradients = torch.autograd.grad(shown + decay, [*weights, oracle.distribution.eta])
    metrics = learner.step(batch)
    assert metrics["loss"] == pytest.approx(shown.item(), rel=1e-10)
    for old, new, gradient in zip(weights, learner.model.parameters(), gradients, strict=False):
        torch.testing.assert_close(new.detach(), old.detach() - 0.1 * gradient, rtol=1e-8, atol=1e-10)
    expected = oracle.distribution.values() - 0.005 * gradients[-1]
    torch.testing.assert_close(learner.distribution.values(), expected, rtol=1e-8, atol=1e-10)


def test_every_epoch_leaves_its_eta(blobs):
    torch.manual_seed(0)
    learner = Augerino(network(blobs), TrainingPlan(60, 20, 2), blobs, 0, AffineDistribution, samples=4)
    for epoch in range(2):
        for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=epoch):
            learner.step(batch)
        report = learner.end_epoch(epoch)
    arrays = learner.arrays()
    assert arrays["eta"].shape == (2, 6)
    assert arrays["eta"][1].tolist() == learner.distribution.values().tolist()
    assert report["eta/rotation"] == arrays["eta"][1, 2]
    assert (arrays["eta"][1] != 0).all()


def test_nothing_to_learn_is_refused(blobs):
    with pytest.raises(ConfigError, match=r"learner\.distribution"):
        Augerino(network(blobs), TrainingPlan(60, 20, 1), blobs, 0, Unchanged)
