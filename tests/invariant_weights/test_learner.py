import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from invariant_weights.basis import FourierBasis
from invariant_weights.head import GaussianHead, PointHead
from invariant_weights.learner import InvariantWeights
from invariant_weights.transformations import affine, rotation
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.models import MLP
from symlab.trainer.batches import derived_generator, epoch_batches
from symlab.trainer.protocol import Learner, TrainingPlan
from tests.contracts import LearnerContract
from tests.invariant_weights.networks import network


class TestFourier(LearnerContract):
    epochs = 8

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        model = network("rff", data.input_shape, data.n_outputs, transformations=affine(0.05))
        return InvariantWeights(model, plan, data, 0, learning_rate=0.1, kept_filters=2)


class TestReLU(LearnerContract):
    epochs = 8

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        model = network("relu", data.input_shape, data.n_outputs, transformations=affine(0.05))
        return InvariantWeights(model, plan, data, 0, learning_rate=0.05)


class TestMaximumLikelihood(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        model = network("relu", data.input_shape, data.n_outputs, transformations=affine(0.05), head=PointHead)
        return InvariantWeights(model, plan, data, 0, learning_rate=0.05)


def learner(data: Dataset, kind: str = "relu", train_size: int = 60, **changes) -> InvariantWeights:
    torch.manual_seed(0)
    model = network(kind, data.input_shape, data.n_outputs, **changes).double()
    return InvariantWeights(model, TrainingPlan(train_size, 20, 2), data, 0)


def spread_posterior(head: GaussianHead) -> None:
    """Away from the prior, so that every term of the bound has a gradient."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        head.mean.add_(torch.randn(head.mean.shape, generator=generator))
        for factor in head.factors:
            factor.mul_(0.5).add_(0.1 * torch.randn(factor.shape, generator=generator).tril())


def test_equation_10_written_out(blobs):
    found = learner(blobs)
    model = found.model
    spread_posterior(model.head)
    inputs, targets = blobs.normalise(blobs.train.inputs[:20]).double(), blobs.train.targets[:20]
    likelihood, divergence, _ = found.bound(inputs, targets, ("step", 0))
    noise = model.noise(derived_generator(0, "transformations", "step", 0))
    epsilon = torch.randn(1, 3, 24, dtype=torch.float64, generator=derived_generator(0, "weights", "step", 0))[0]
    total = 0.0
    for image, target in zip(inputs, targets):
        outputs = []
        for c in range(3):
            weights = model.head.mean[c] + model.head.factors[c].T @ epsilon[c]
            outputs.append(torch.stack([model.features(image[None], each[None])[0] @ weights for each in noise]).mean())
        total += torch.stack(outputs).log_softmax(0)[target].item()
    assert likelihood.item() == pytest.approx(total / 20, rel=1e-10)
    assert divergence.item() == pytest.approx(model.head.divergence().item(), rel=1e-12)


def gradients(found: InvariantWeights, likelihood: Tensor, divergence: Tensor) -> list[Tensor]:
    loss = divergence / found.plan.train_size - likelihood
    return list(torch.autograd.grad(loss, [each for each in found.model.parameters() if each.requires_grad]))


def test_batches_estimate_the_gradient_of_all_data_without_bias(blobs):
    """With the same draws, the mean over the batches of an epoch is the gradient of the bound over all data."""
    found = learner(blobs)
    spread_posterior(found.model.head)
    inputs, targets = blobs.normalise(blobs.train.inputs).double(), blobs.train.targets
    whole = gradients(found, *found.bound(inputs, targets, ("step", 0))[:2])
    parts = [
        gradients(found, *found.bound(inputs[chosen], targets[chosen], ("step", 0))[:2])
        for chosen in torch.randperm(60, generator=torch.Generator().manual_seed(0)).split(20)
    ]
    for expected, *estimates in zip(whole, *parts, strict=True):
        torch.testing.assert_close(torch.stack(estimates).mean(0), expected, rtol=1e-9, atol=1e-11)


def test_sampled_weights_estimate_the_gradient_of_the_bound_without_bias():
    """Against quadrature: with two classes the likelihood depends on one Gaussian number, f_1 - f_0.

    The mean of 200 estimates with 1000 draws each lies within 5 standard errors of the exact gradient, entry by entry.
    """
    torch.manual_seed(0)
    head = GaussianHead(2, 2).double()
    spread_posterior(head)
    features = torch.tensor([[0.8, -1.1], [0.4, 0.9]], dtype=torch.float64)
    targets = torch.tensor([0, 1])
    nodes, shares = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(60))
    mean, factors = head.mean.detach().requires_grad_(), [each.detach().requires_grad_() for each in head.factors]
    difference = features @ (mean[1] - mean[0])
    variance = sum((features @ factor.tril().T).square().sum(1) for factor in factors)
    sign = 2.0 * targets - 1
    values = functional.logsigmoid(sign[:, None] * (difference[:, None] + variance.sqrt()[:, None] * nodes))
    exact = (values * shares / math.sqrt(2 * math.pi)).sum(1).mean()
    expected = torch.autograd.grad(exact, [mean, *factors])
    estimates: list[list[Tensor]] = []
    for index in range(200):
        weights, _ = head.sample(1000, torch.Generator().manual_seed(index))
        logits = features @ weights.mT
        likelihood = -functional.cross_entropy(logits.flatten(0, 1), targets.repeat(1000))
        estimates.append(list(torch.autograd.grad(likelihood, list(head.parameters()))))
    for exact_gradient, *found in zip(expected, *estimates, strict=True):
        stacked = torch.stack(found)
        error = stacked.std(0) / math.sqrt(200)
        assert ((stacked.mean(0) - exact_gradient).abs() <= 5 * error + 1e-12).all()


def test_the_reported_bound_is_that_of_the_trained_network(blobs):
    found = learner(blobs)
    spread_posterior(found.model.head)
    reported = found.final_metrics()
    inputs = blobs.normalise(blobs.train.inputs).double()
    likelihood, divergence, _ = found.bound(inputs, blobs.train.targets, ("evaluation", 0))
    assert reported["train/elbo"] == pytest.approx((likelihood - divergence / 60).item(), rel=1e-10)
    assert reported["train/log_likelihood"] - reported["train/divergence"] == pytest.approx(reported["train/elbo"])


def test_every_epoch_leaves_eta_and_filters(blobs):
    torch.manual_seed(0)
    model = network("relu", blobs.input_shape, 3, transformations=rotation(10))
    found = InvariantWeights(model, TrainingPlan(60, 20, 2), blobs, 0, kept_filters=2)
    for epoch in range(2):
        for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=epoch):
            found.step(batch)
        report = found.end_epoch(epoch)
    arrays = found.arrays()
    assert arrays["eta"].shape == (2, 6)
    assert arrays["filters"].shape == (2, 2, 1, 4, 4)
    assert report["eta/rotation"] == arrays["eta"][1, 2] != math.radians(10)
    assert (arrays["eta"][:, [0, 1, 3, 4, 5]] == 0).all()


def test_a_fixed_invariance_stays(blobs):
    found = learner(blobs, transformations=rotation(30, learned=False))
    for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=0):
        found.step(type(batch)(batch.inputs.double(), batch.targets))
    assert found.model.transformations.values()[2].item() == pytest.approx(math.pi / 6)


def test_fourier_filters_are_never_trained(blobs):
    found = learner(blobs, kind="rff", basis=partial(FourierBasis, units=8))
    names = {name for name, each in found.model.named_parameters() if each.requires_grad}
    assert names == {"transformations.eta", "head.mean", *(f"head.factors.{c}" for c in range(3))}


def test_other_networks_are_refused(blobs):
    with pytest.raises(ConfigError, match="invariant_rff"):
        InvariantWeights(MLP((1, 4, 4), 3, [4]), TrainingPlan(60, 20, 1), blobs, 0)
