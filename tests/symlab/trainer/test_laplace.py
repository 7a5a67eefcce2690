import math

import pytest
import torch
from torch import nn

from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.kfac import Classification, estimate
from symlab.models import MLP
from symlab.records import RunDirectory
from symlab.trainer.batches import epoch_batches
from symlab.trainer.hardware import Hardware
from symlab.trainer.laplace import DifferentiableLaplace
from symlab.trainer.loop import Loop, Training
from symlab.trainer.map import MAP
from symlab.trainer.protocol import Learner, TrainingPlan
from tests.contracts import LearnerContract
from tests.symlab.trainer.test_descent import Stretched
from tests.symlab.trainer.test_loop import Killed, Watch

SOON = {"burn_in": 1, "every": 1, "prior_steps": 3}


class TestDifferentiableLaplace(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return DifferentiableLaplace(MLP(data.input_shape, data.n_outputs, [16]), plan, data, seed=0, **SOON)


class TestOnASampleOfTheData(LearnerContract):
    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        model = MLP(data.input_shape, data.n_outputs, [16])
        return DifferentiableLaplace(model, plan, data, seed=0, fit_size=25, fit_batch_size=10, **SOON)


def double_learner(data: Dataset, epochs: int = 3, **options) -> DifferentiableLaplace:
    torch.manual_seed(0)
    model = MLP(data.input_shape, data.n_outputs, [5]).double()
    return DifferentiableLaplace(model, TrainingPlan(len(data.train), 20, epochs), data, seed=0, **options)


def dense_objective(learner: DifferentiableLaplace, log_precision: torch.Tensor) -> float:
    """Eq. 9 with every curvature block written out and its determinant taken by LU."""
    model, data = learner.model, learner.data
    inputs = data.normalise(data.train.inputs).double()
    with torch.no_grad():
        total = nn.functional.cross_entropy(model(inputs), data.train.targets, reduction="sum").item()
    blocks = estimate(model, Classification(), [(inputs, data.train.targets)]).blocks
    for (name, parameter), log_delta in zip(model.named_parameters(), log_precision, strict=True):
        delta, size = log_delta.exp().item(), parameter.numel()
        log_prior = 0.5 * size * (log_delta.item() - math.log(2 * math.pi)) - 0.5 * delta * parameter.square().sum().item()
        log_det = torch.linalg.slogdet(blocks[name].dense() + delta * torch.eye(size, dtype=torch.float64))[1].item()
        total += -log_prior - 0.5 * size * math.log(2 * math.pi) + 0.5 * log_det
    return total


def test_the_gradient_in_every_precision_is_that_of_the_objective_written_out(blobs):
    learner = double_learner(blobs)
    for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=0):
        learner.step(type(batch)(batch.inputs.double(), batch.targets))
    log_precision = learner.prior.log_precision
    with torch.no_grad():
        log_precision.copy_(torch.linspace(-1, 2, len(log_precision)))
    objective = -learner.fit(epoch=0).log_marginal_likelihood()
    assert objective.item() == pytest.approx(dense_objective(learner, log_precision.detach()), rel=1e-10)
    (gradient,) = torch.autograd.grad(objective, log_precision)
    for index in range(len(log_precision)):
        shift = torch.zeros_like(log_precision)
        shift[index] = 1e-4
        up, down = (dense_objective(learner, log_precision.detach() + sign * shift) for sign in (1, -1))
        assert gradient[index].item() == pytest.approx((up - down) / 2e-4, rel=1e-6, abs=1e-7)


def test_prior_steps_lower_the_objective_and_reach_the_weights(blobs):
    learner = double_learner(blobs)
    laplace = learner.fit(epoch=0)
    before = -laplace.log_marginal_likelihood().item()
    learner.update_prior(laplace)
    after = -laplace.log_marginal_likelihood().item()
    assert after < before
    learnt = dict(zip(learner.prior.shapes, learner.prior.log_precision.exp().tolist(), strict=True))
    assert learner.descent.precisions == pytest.approx(learnt)
    assert len(set(learnt.values())) == 4  # weights and biases of two layers, each its own
    report = learner.report(laplace)
    assert report["train/negative_log_marginal_likelihood"] == pytest.approx(after / 60)
    assert report["train/effective_parameters"] == pytest.approx(sum(laplace.effective_parameters().values()))
    weight = learner.model.get_parameter(name := next(iter(learnt)))
    assert report[f"mean_square/{name}"] == pytest.approx(weight.square().mean().item())
    assert report[f"prior_precision/{name}"] == pytest.approx(learnt[name])
    assert 0 < report[f"normalised_effective_parameters/{name}"] < 1


def test_until_the_first_fit_it_is_map(blobs):
    learner = double_learner(blobs, burn_in=3, prior_precision=0.3)
    baseline = MAP(double_learner(blobs).model, learner.plan, prior_precision=0.3)
    for epoch in range(2):
        for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=epoch):
            batch = type(batch)(batch.inputs.double(), batch.targets)
            assert learner.step(batch) == baseline.step(batch)
        assert learner.end_epoch(epoch) == {}
    assert "train/negative_log_marginal_likelihood" in learner.end_epoch(2)


@pytest.mark.parametrize(
    ("epochs", "burn_in", "every", "due"),
    [(23, 10, 5, [9, 14, 19, 22]), (20, 10, 5, [9, 14, 19]), (3, 10, 5, [2]), (3, 0, 1, [0, 1, 2])],
)
def test_fits_after_the_burn_in_every_few_epochs_and_at_the_end(blobs, epochs, burn_in, every, due):
    assert double_learner(blobs, epochs, burn_in=burn_in, every=every).fit_epochs() == due


def test_the_rate_of_prior_steps_is_annealed_over_fits_and_moments_are_kept(blobs):
    learner = double_learner(blobs, epochs=4, burn_in=1, every=1, prior_steps=2, prior_learning_rate=0.2)
    rates = []
    for epoch in range(4):
        learner.end_epoch(epoch)
        rates.append(learner.prior_optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.1 * (1 + math.cos(math.pi * fit / 4)) for fit in range(4)])
    assert learner.prior_optimizer.state[learner.prior.log_precision]["step"] == 8


def test_a_sample_is_scaled_up_to_all_data(blobs):
    """Oracle: the mean over samples of log likelihood and trace is that of the data; a sample seen N/M times is the data."""
    learner = double_learner(blobs, fit_size=20)
    laplace = learner.fit(epoch=0)
    parts = list(learner.ascent.batches(epoch=0))
    seen_three_times = estimate(learner.model, Classification(), parts * 3)
    assert laplace.n_data == 60
    assert laplace.log_likelihood == pytest.approx(seen_three_times.log_likelihood)
    for name, block in laplace.blocks.items():
        torch.testing.assert_close(block.dense(), seen_three_times.blocks[name].dense(), rtol=1e-10, atol=1e-12)
    assert not torch.equal(parts[0][0], next(learner.ascent.batches(epoch=1))[0])


class StretchedImages(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rest = Stretched(), nn.Linear(3, 3)

    def forward(self, images):
        return self.rest(self.first(images.flatten(1)[:, :5]).tanh())

    def describe_fit(self, tensors):
        return {"described": float(len(tensors))}


def test_hyperparameters_of_layers_have_neither_prior_nor_curvature(blobs):
    learner = DifferentiableLaplace(StretchedImages(), TrainingPlan(60, 20, 1), blobs, seed=0)
    report = learner.end_epoch(0)
    names = {name.removeprefix("prior_precision/") for name in report if name.startswith("prior_precision/")}
    assert names == {"first.linear.weight", "first.linear.bias", "rest.weight", "rest.bias"}
    assert report["described"] == 4


def make_loop(data, path, watch=None, checkpoint_seconds=0.0) -> Loop:
    torch.manual_seed(0)
    training = Training(epochs=5, batch_size=16)
    model = MLP(data.input_shape, data.n_outputs, [8])
    options = {"burn_in": 2, "every": 2, "prior_steps": 3, "fit_size": 30}
    learner = DifferentiableLaplace(model, training.plan(data), data, 0, **options)
    directory = RunDirectory(path, "key")
    directory.path.mkdir(parents=True, exist_ok=True)
    return Loop(training, learner, data, Hardware(), 0, directory, watch or Watch(), checkpoint_seconds)


@pytest.mark.parametrize("kill_after", [6, 9, 13, 18])
def test_a_killed_run_ends_like_an_unbroken_one(blobs, tmp_path, kill_after):
    (unbroken := make_loop(blobs, tmp_path / "unbroken", checkpoint_seconds=math.inf)).run()
    with pytest.raises(Killed):
        make_loop(blobs, tmp_path / "killed", Watch(kill_after)).run()
    (resumed := make_loop(blobs, tmp_path / "killed")).run()
    assert resumed.directory.metrics() == unbroken.directory.metrics()
    assert "train/negative_log_marginal_likelihood" in resumed.final_metrics()


@pytest.mark.parametrize(
    "option", [{"burn_in": -1}, {"every": 0}, {"prior_steps": -1}, {"fit_size": 0}, {"fit_batch_size": 0}]
)
def test_values_that_make_no_sense_are_refused_by_name(blobs, option):
    with pytest.raises(ConfigError, match=f"learner.{next(iter(option))}"):
        double_learner(blobs, **option)


def test_regression_has_a_marginal_likelihood_too(blobs):
    split = type(blobs.train)(torch.randn(30, 4), torch.randn(30))
    data = Dataset("rows", split, None, split, n_classes=0, mean=(0.0,) * 4, std=(1.0,) * 4)
    learner = DifferentiableLaplace(MLP((4,), 1, [3]), TrainingPlan(30, 10, 1), data, seed=0)
    assert math.isfinite(learner.end_epoch(0)["train/negative_log_marginal_likelihood"])
