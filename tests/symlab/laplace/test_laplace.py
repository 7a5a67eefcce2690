from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

import symlab.kfac
from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification, Regression
from symlab.laplace import GaussianPrior, Laplace
from tests.symlab.laplace.cases import full_block, kfac_blocks, small_network

GENERATOR = torch.Generator().manual_seed(3)
INPUTS = torch.randn(9, 2, generator=GENERATOR, dtype=torch.float64)
TARGETS = torch.randn(9, 3, generator=GENERATOR, dtype=torch.float64)


def classifier(structure: str = "layer", joint: bool = True) -> Laplace:
    model, likelihood = small_network(), Classification()
    value = likelihood.log_likelihood(model(INPUTS), torch.arange(9) % 3).item()
    return Laplace(
        model, likelihood, kfac_blocks(model, likelihood, INPUTS, joint), value, 9, GaussianPrior(model, structure)
    )


def regressor(n_outputs: int | None = 3) -> Laplace:
    model, likelihood = small_network(), Regression(noise=0.5)
    value = likelihood.log_likelihood(model(INPUTS), TARGETS).item()
    return Laplace(model, likelihood, full_block(model, likelihood, INPUTS), value, 9, n_outputs=n_outputs)


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


@pytest.mark.parametrize("make", [classifier, lambda: classifier("unit", joint=False), regressor, lambda: regressor(None)])
def test_stored_fits_come_back_bit_by_bit(make, tmp_path) -> None:
    laplace = make()
    laplace.optimise_prior(steps=3, learn_noise=laplace.n_outputs is not None)
    laplace.save(tmp_path / "fit.pt")
    model = small_network()
    nn.init.zeros_(model[0].weight)  # theta* is part of the fit
    loaded = Laplace.load(tmp_path / "fit.pt", model)
    assert torch.equal(loaded.prior.log_precision, laplace.prior.log_precision)
    for name, block in laplace.blocks.items():
        again = loaded.blocks[name]
        assert (again.names, again.shapes, again.rows) == (block.names, block.shapes, block.rows)
        assert torch.equal(again.inputs, block.inputs)
        assert torch.equal(again.outputs, block.outputs)
    assert torch.equal(loaded.log_marginal_likelihood(), laplace.log_marginal_likelihood())
    assert loaded.effective_parameters() == laplace.effective_parameters()
    first, second = (fit.predict(INPUTS) for fit in (laplace, loaded))
    for have, want in zip(values_of(second), values_of(first), strict=True):
        assert torch.equal(have, want)
    assert not loaded.model[0].weight.any()


def values_of(prediction) -> list[Tensor]:
    return [prediction] if isinstance(prediction, Tensor) else [prediction.mean, prediction.variance]


def test_a_model_that_does_not_fit_is_refused_by_name(tmp_path) -> None:
    classifier().save(tmp_path / "fit.pt")
    with pytest.raises(ConfigError, match=r"2\.weight has shape \(4, 4\) instead of \(3, 4\); 2\.bias has shape \(4,\)"):
        Laplace.load(tmp_path / "fit.pt", small_network(n_outputs=4))
    with pytest.raises(ConfigError, match=r"0\.bias is missing"):
        Laplace.load(tmp_path / "fit.pt", nn.Sequential(nn.Linear(2, 4, bias=False), nn.Tanh(), nn.Linear(4, 3)))
    fit = classifier()
    with pytest.raises(ConfigError, match=r"does not fit the curvature: 2\.weight"):
        Laplace(small_network(n_outputs=4), fit.likelihood, fit.blocks, fit.log_likelihood, 9)


def test_files_of_other_versions_and_foreign_likelihoods(tmp_path) -> None:
    class Own(Classification):
        """Only structurally a likelihood."""

    class Foreign:
        hessian = Classification.hessian

    model = small_network()
    blocks = kfac_blocks(model, Classification(), INPUTS, joint=True)
    Laplace(model, Foreign(), blocks, -4.0, 9).save(tmp_path / "fit.pt")
    with pytest.raises(ConfigError, match="has a likelihood of its own"):
        Laplace.load(tmp_path / "fit.pt", model)
    own = Own()
    assert Laplace.load(tmp_path / "fit.pt", model, own).likelihood is own
    torch.save({"version": 99}, tmp_path / "other.pt")
    with pytest.raises(ConfigError, match="version 99 cannot be read"):
        Laplace.load(tmp_path / "other.pt", model)


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
