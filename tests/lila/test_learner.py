import math

import pytest
import torch

from lila.affine import AffineDistribution
from lila.distribution import Unchanged
from lila.learner import LILA, OBJECTIVE
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.models import MLP
from symlab.trainer.batches import epoch_batches
from symlab.trainer.protocol import Batch, Learner, TrainingPlan
from tests.contracts import LearnerContract
from tests.oracles import finite_difference


def network(data: Dataset, width: int = 16) -> MLP:
    return MLP(data.input_shape, data.n_outputs, [width], "tanh")


class TestLILA(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return LILA(network(data), plan, data, 0, AffineDistribution, samples=4, burn_in=1, learning_rate=0.02)


class TestEmpiricalFisherOnASample(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        options = {"kind": "empirical", "fit_size": 25, "fit_batch_size": 10, "prior_structure": "tensor"}
        return LILA(network(data), plan, data, 0, AffineDistribution, 4, burn_in=1, learning_rate=0.02, **options)


class TestDiagonalWithoutRestoring(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        options = {"structure": "diagonal", "restore_best": False}
        return LILA(network(data), plan, data, 0, AffineDistribution, 4, burn_in=1, learning_rate=0.02, **options)


class TestNonInvariant(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return LILA(network(data), plan, data, 0, Unchanged, samples=1, burn_in=1, learning_rate=0.02)


def double_learner(data: Dataset, epochs: int = 4, eta: tuple[float, ...] = (0.2,) * 6, **options) -> LILA:
    torch.manual_seed(0)
    plan = TrainingPlan(len(data.train), 20, epochs)
    options = {"burn_in": 1, "learning_rate": 0.02, **options}
    return LILA(network(data, 5).double(), plan, data, 0, lambda: AffineDistribution(eta), 3, **options)


def train(learner: LILA, data: Dataset, epochs: range) -> list[dict[str, float]]:
    reports = []
    for epoch in epochs:
        for batch in epoch_batches(data, 20, "none", seed=0, epoch=epoch):
            learner.step(Batch(batch.inputs.double(), batch.targets))
        reports.append(learner.end_epoch(epoch))
    return reports


def test_eta_climbs_the_marginal_likelihood(blobs):
    """Adam's first step has the size of the rate in every entry, and the sign of the gradient."""
    learner = double_learner(blobs, eta=(0.13, -0.21, 0.4, 0.22, -0.17, 0.3))
    before = learner.distribution.values()

    def value(eta: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            learner.distribution.eta.copy_(eta)
        return learner.ascent.fit(0).log_marginal_likelihood().detach()

    gradient = finite_difference(value, before, step=1e-6)
    with torch.no_grad():
        learner.distribution.eta.copy_(before)
    assert gradient.abs().min() > 1e-4
    learner.end_epoch(0)
    torch.testing.assert_close(learner.distribution.values() - before, 0.05 * gradient.sign(), rtol=1e-3, atol=1e-5)


def test_weights_are_trained_on_fresh_copies_and_do_not_move_eta(blobs):
    learner = double_learner(blobs)
    seen = []
    step = learner.descent.step
    learner.descent.step = lambda batch: (seen.append(batch.inputs), step(batch))[1]
    batch = next(epoch_batches(blobs, 20, "none", seed=0, epoch=0))
    before = learner.distribution.values()
    for _ in range(2):
        learner.step(Batch(batch.inputs.double(), batch.targets))
    assert seen[0].shape == (20, 3, *blobs.input_shape)
    assert not torch.equal(seen[0], seen[1])
    assert torch.equal(learner.distribution.values(), before)


def test_nothing_happens_before_the_first_fit_and_then_every_few_epochs(blobs):
    learner = double_learner(blobs, epochs=5, burn_in=2, every=2)
    reports = train(learner, blobs, range(5))
    assert [bool(report) for report in reports] == [False, True, False, True, True]  # the last epoch always ends with a fit
    arrays = learner.arrays()
    assert arrays["epoch"].tolist() == [1, 3, 4]
    assert arrays["eta"].shape == (3, 6)
    assert arrays["objective"][:2].tolist() == pytest.approx([reports[1][OBJECTIVE], reports[3][OBJECTIVE]], rel=1e-12)


def test_the_best_fit_is_restored(blobs):
    wild = {"epochs": 4, "prior_learning_rate": 6.0, "final_prior_learning_rate": 6.0}  # the prior steps far too far
    learner = double_learner(blobs, **wild)
    reports = train(learner, blobs, range(4))
    arrays = learner.arrays()
    best = arrays["objective"].argmin()
    assert best != 3
    assert reports[-1][OBJECTIVE] == pytest.approx(arrays["objective"][best], rel=1e-12)
    assert learner.distribution.values().tolist() == pytest.approx(arrays["eta"][best].tolist(), rel=1e-12)
    found = -learner.ascent.fit(int(best)).log_marginal_likelihood().item() / 60
    assert found == pytest.approx(arrays["objective"][best], rel=1e-10)  # weights and precisions are those of that fit
    kept = double_learner(blobs, **wild, restore_best=False)
    assert train(kept, blobs, range(4))[-1][OBJECTIVE] == pytest.approx(arrays["objective"][-1], rel=1e-12)


def test_rotation_stays_within_half_a_turn_and_fixed_entries_stay(blobs):
    torch.manual_seed(0)
    plan = TrainingPlan(60, 20, 6)
    learnable = (False, False, True, False, False, False)
    start = (0.0, 0.0, 3.1, 0.0, 0.0, 0.0)
    learner = LILA(
        network(blobs).double(),
        plan,
        blobs,
        0,
        lambda: AffineDistribution(start, learnable),
        samples=3,
        burn_in=1,
        invariance_learning_rate=0.5,
        restore_best=False,
    )
    reports = train(learner, blobs, range(5))
    eta = learner.arrays()["eta"]
    assert abs(eta[1:, 2] - 3.1).max() > 0.03
    assert abs(eta).max() <= math.pi
    assert (eta[:, [0, 1, 3, 4, 5]] == 0).all()
    assert reports[-1]["invariance/rotation_degrees"] == pytest.approx(math.degrees(abs(reports[-1]["eta/rotation"])))


def test_the_baseline_learns_its_prior_and_nothing_else(blobs):
    torch.manual_seed(0)
    plan = TrainingPlan(60, 20, 3)
    learner = LILA(network(blobs).double(), plan, blobs, 0, Unchanged, samples=1, burn_in=1, restore_best=False)
    train(learner, blobs, range(3))
    assert set(learner.descent.precisions.values()) != {1.0}
    assert learner.arrays()["eta"].shape == (3, 0)
    inputs = blobs.normalise(blobs.test.inputs).double()
    assert torch.equal(learner.predict(inputs), learner.model(inputs))


def test_rates_of_eta_are_annealed_over_fits(blobs):
    learner = double_learner(blobs, epochs=4, invariance_learning_rate=0.05, final_invariance_learning_rate=0.005)
    rates = []
    for epoch in range(3):
        learner.end_epoch(epoch)
        rates.append(learner.invariance_optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.005 + 0.0225 * (1 + math.cos(math.pi * fit / 4)) for fit in range(3)])


def test_training_that_ends_before_eta_moves_is_refused(blobs):
    with pytest.raises(ConfigError, match=r"trainer.epochs=4 with learner.burn_in=4 leaves eta no step"):
        double_learner(blobs, epochs=4, burn_in=4)
