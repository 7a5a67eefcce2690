from types import SimpleNamespace

import pytest
import torch

import symlab.kfac
from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Regression
from symlab.laplace import Laplace
from tests.symlab.laplace.cases import full_block
from tests.symlab.laplace.fits import INPUTS, TARGETS, classifier, regressor


def test_empirical_bayes_raises_the_marginal_likelihood() -> None:
    laplace = classifier()
    before = laplace.log_marginal_likelihood().item()
    trajectory = laplace.optimise_prior(steps=20, learning_rate=0.1)
    assert laplace.log_marginal_likelihood().item() > before
    assert trajectory.log_marginal_likelihood[0].item() == before
    assert (trajectory.log_marginal_likelihood.diff()[:5] > 0).all()


def test_noise_is_learnt_along() -> None:
    laplace = regressor()
    trajectory = laplace.optimise_prior(steps=10, learn_noise=True)
    assert (trajectory.log_marginal_likelihood.diff() > 0).all()
    assert trajectory.log_noise is not None
    assert trajectory.log_noise[-1].item() == laplace.likelihood.log_noise.item() != trajectory.log_noise[0].item()
    moved, noise = regressor(), laplace.likelihood.log_noise.exp().item()
    refitted = Regression(noise)
    blocks = full_block(moved.model, refitted, INPUTS)
    value = refitted.log_likelihood(moved.model(INPUTS), TARGETS).item()
    again = Laplace(moved.model, refitted, blocks, value, 9, laplace.prior)
    torch.testing.assert_close(laplace.log_marginal_likelihood(), again.log_marginal_likelihood(), rtol=1e-10, atol=1e-9)
    torch.testing.assert_close(laplace.predict(INPUTS).variance, again.predict(INPUTS).variance, rtol=1e-9, atol=1e-10)
    assert laplace.effective_parameters() == pytest.approx(again.effective_parameters())


@pytest.mark.parametrize("structure", ["scalar", "layer", "tensor", "unit"])
def test_effective_parameters_of_each_tensor(structure) -> None:
    laplace = classifier(structure)
    counts = laplace.effective_parameters()
    assert list(counts) == [name for name, _ in laplace.model.named_parameters()]
    for name, parameter in laplace.model.named_parameters():
        assert 0 < counts[name] < parameter.numel()
    with torch.no_grad():
        laplace.prior.log_precision.fill_(40)
    assert sum(laplace.effective_parameters().values()) < 1e-10


def test_prediction_follows_the_prior() -> None:
    laplace = classifier("unit")
    assert laplace.posterior() is laplace.posterior()
    wide = laplace.predict(INPUTS)
    with torch.no_grad():
        laplace.prior.log_precision.fill_(30)
    torch.testing.assert_close(laplace.predict(INPUTS), laplace.model(INPUTS).softmax(-1).detach(), rtol=0, atol=1e-6)
    assert not torch.allclose(wide, laplace.predict(INPUTS), atol=1e-3)


def test_noise_without_the_number_of_outputs_is_refused() -> None:
    with pytest.raises(ConfigError, match="give n_outputs"):
        regressor(None).optimise_prior(learn_noise=True)
    with pytest.raises(ConfigError, match="only a regression has noise to learn"):
        classifier().optimise_prior(learn_noise=True)


@pytest.mark.parametrize(("kind", "n_outputs"), [("ggn", 3), ("empirical", None)])
def test_fitting_passes_everything_to_the_estimation(monkeypatch, kind, n_outputs) -> None:
    made = classifier()
    asked = {}

    def estimate(model, likelihood, batches, **options):
        asked.update(options, batches=batches)
        return SimpleNamespace(blocks=made.blocks, log_likelihood=made.log_likelihood, n_data=9, n_outputs=3)

    monkeypatch.setattr(symlab.kfac, "estimate", estimate, raising=False)
    laplace = Laplace.fit(made.model, made.likelihood, [1, 2], structure="kfac", kind=kind, prior=made.prior, samples=5)
    assert asked == {"structure": "kfac", "kind": kind, "samples": 5, "batches": [1, 2]}
    assert laplace.n_outputs == n_outputs
    assert torch.equal(laplace.log_marginal_likelihood(), made.log_marginal_likelihood())
