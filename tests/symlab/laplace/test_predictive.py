import math

import pytest
import torch
from torch import nn

from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification, Regression
from symlab.laplace.posterior import Posterior
from symlab.laplace.predictive import monte_carlo, predict, probit
from symlab.laplace.prior import GaussianPrior
from symlab.laplace.spectrum import Spectrum
from tests.symlab.laplace.cases import full_block, kfac_blocks, small_network

INPUTS = torch.randn(6, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def make_posterior(likelihood, precision: float = 30.0, model: nn.Module | None = None) -> Posterior:
    model = small_network() if model is None else model
    spectra = [Spectrum(block) for block in full_block(model, likelihood, INPUTS).values()]
    return Posterior(model, spectra, GaussianPrior(model, "scalar", precision), dict(model.named_parameters()))


def test_probit_is_written_out() -> None:
    mean, covariance = torch.tensor([[1.0, -2.0]]), torch.tensor([[[0.5, 0.3], [0.3, 2.0]]])
    logits = [1 / math.sqrt(1 + math.pi / 8 * 0.5), -2 / math.sqrt(1 + math.pi / 8 * 2)]
    expected = torch.tensor([logits]).softmax(-1)
    torch.testing.assert_close(probit(mean, covariance), expected)


def test_monte_carlo_draws_from_the_gaussian_even_if_it_is_singular() -> None:
    mean = torch.tensor([[0.4, 0.0]], dtype=torch.float64)
    covariance = torch.tensor([[[4.0, 0.0], [0.0, 0.0]]], dtype=torch.float64)
    have = monte_carlo(mean, covariance, 20_000, torch.Generator().manual_seed(0))
    points = torch.linspace(-20, 20, 20_001, dtype=torch.float64)
    density = torch.exp(-0.5 * ((points - 0.4) / 2).square()) / (2 * math.sqrt(2 * math.pi))
    expected = torch.trapezoid(density * points.sigmoid(), points)
    assert have[0, 0].item() == pytest.approx(expected.item(), abs=0.01)
    assert have.sum().item() == pytest.approx(1)


def test_all_methods_agree_when_the_posterior_is_narrow_and_the_network_certain_when_it_vanishes() -> None:
    likelihood = Classification()
    posterior = make_posterior(likelihood)
    predictions = [
        predict(posterior, likelihood, INPUTS, method, 500, torch.Generator().manual_seed(0))
        for method in (None, "probit", "monte_carlo", "weights")
    ]
    assert torch.equal(predictions[0], predictions[1])
    for prediction in predictions:
        torch.testing.assert_close(prediction.sum(-1), torch.ones(6, dtype=torch.float64))
        torch.testing.assert_close(prediction, predictions[0], rtol=0, atol=0.03)
    certain = make_posterior(likelihood, precision=1e12)
    plain = posterior.outputs(INPUTS).softmax(-1)
    for method in ("probit", "monte_carlo", "weights"):
        torch.testing.assert_close(predict(certain, likelihood, INPUTS, method, 3), plain, rtol=0, atol=1e-5)


def test_regression_adds_noise_to_the_variance_of_the_function() -> None:
    likelihood = Regression(noise=0.5)
    posterior = make_posterior(likelihood, precision=3.0, model=nn.Linear(2, 2).double())  # linear: both ways are exact
    mean, covariance = posterior.functional_covariance(INPUTS)
    prediction = predict(posterior, likelihood, INPUTS)
    torch.testing.assert_close(prediction.mean, mean)
    torch.testing.assert_close(prediction.variance, covariance.diagonal(dim1=1, dim2=2) + 0.25)
    drawn = predict(posterior, likelihood, INPUTS, "weights", 2000, torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn.mean, mean, rtol=0, atol=0.05)
    torch.testing.assert_close(drawn.variance, prediction.variance, rtol=0.1, atol=0)


def test_draws_are_repeatable_with_a_generator() -> None:
    likelihood = Classification()
    posterior = make_posterior(likelihood)
    for method in ("monte_carlo", "weights"):
        first, second = (
            predict(posterior, likelihood, INPUTS, method, 3, torch.Generator().manual_seed(5)) for _ in range(2)
        )
        assert torch.equal(first, second)


def test_a_float32_network_predicts_in_float64() -> None:
    model, likelihood = small_network(dtype=torch.float32), Classification()
    spectra = [Spectrum(block) for block in kfac_blocks(model, likelihood, INPUTS.float(), joint=True).values()]
    posterior = Posterior(model, spectra, GaussianPrior(model), dict(model.named_parameters()))
    for method in ("probit", "monte_carlo", "weights"):
        assert predict(posterior, likelihood, INPUTS.float(), method, 2).dtype == torch.float64


def test_wrong_requests_are_refused() -> None:
    classes, regression = Classification(), Regression()
    posterior = make_posterior(classes)
    with pytest.raises(ConfigError, match="method='laplace' is unknown: choose from probit, monte_carlo, weights"):
        predict(posterior, classes, INPUTS, "laplace")
    with pytest.raises(ConfigError, match="method='probit' is for classes"):
        predict(posterior, regression, INPUTS, "probit")
    with pytest.raises(ConfigError, match="no prediction is known for object"):
        predict(posterior, object(), INPUTS)
    with pytest.raises(ConfigError, match="at least 1 draws"):
        predict(posterior, classes, INPUTS, "weights", 0)
    with pytest.raises(ConfigError, match="at least 2 draws"):
        predict(posterior, regression, INPUTS, "weights", 1)
