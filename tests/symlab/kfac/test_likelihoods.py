import math

import pytest
import torch

from symlab.errors import ConfigError
from symlab.kfac import Classification, Regression
from tests.oracles import output_hessian

CASES = {
    "classification": (Classification(), torch.tensor([0, 2, 1])),
    "regression": (
        Regression(noise=0.6),
        torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),
    ),
}
OUTPUTS = 2 * torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("case", CASES)
def test_hessian_is_the_second_derivative(case):
    likelihood, targets = CASES[case]
    torch.testing.assert_close(
        likelihood.hessian(OUTPUTS), output_hessian(likelihood, OUTPUTS, targets), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("case", CASES)
def test_root_squares_to_the_hessian(case):
    likelihood, _ = CASES[case]
    root = likelihood.hessian_root(OUTPUTS)
    torch.testing.assert_close(root @ root.mT, likelihood.hessian(OUTPUTS), rtol=1e-12, atol=1e-12)


def test_classification_root_has_one_column_less_and_survives_certainty():
    assert Classification().hessian_root(OUTPUTS).shape == (3, 4, 3)
    certain = torch.tensor([[800.0, 0.0, -800.0]], dtype=torch.float64, requires_grad=True)
    root = Classification().hessian_root(certain)
    assert root.isfinite().all()
    (gradient,) = torch.autograd.grad(root.sum(), certain)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("case", CASES)
def test_score_is_the_first_derivative(case):
    likelihood, targets = CASES[case]
    outputs = OUTPUTS.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(likelihood.log_likelihood(outputs, targets), outputs)
    torch.testing.assert_close(likelihood.score(OUTPUTS, targets), gradient, rtol=1e-10, atol=1e-10)


def test_sampled_scores_have_the_hessian_as_covariance():
    torch.manual_seed(0)
    for likelihood, _ in CASES.values():
        outputs = OUTPUTS[:1].expand(200_000, -1)
        scores = likelihood.score(outputs, likelihood.sample(outputs)).detach()
        covariance = scores.mT @ scores / len(scores)
        expected = likelihood.hessian(OUTPUTS[:1])[0].detach()
        torch.testing.assert_close(covariance, expected, rtol=0.02, atol=0.02)


def test_gaussian_density_is_normalised_as_in_torch():
    likelihood, targets = CASES["regression"]
    expected = torch.distributions.Normal(OUTPUTS, 0.6).log_prob(targets).sum()
    assert likelihood.log_likelihood(OUTPUTS, targets).item() == pytest.approx(expected.item(), rel=1e-10)
    assert likelihood.log_noise.item() == pytest.approx(math.log(0.6))


def test_noise_must_be_positive():
    with pytest.raises(ConfigError, match="noise=0"):
        Regression(noise=0)
