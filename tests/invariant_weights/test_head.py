import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, kl_divergence

from invariant_weights.head import GaussianHead, PointHead
from symlab.errors import ConfigError


@pytest.fixture
def head() -> GaussianHead:
    generator = torch.Generator().manual_seed(0)
    head = GaussianHead(5, 3).double()
    with torch.no_grad():
        head.mean.copy_(torch.randn(3, 5, generator=generator))
        for factor in head.factors:
            factor.add_(torch.randn(5, 5, generator=generator).tril().double(), alpha=0.4)
        head.factors[1][2, 2] = -0.7  # the sign of a diagonal entry does not matter
    return head


def posterior(mean: Tensor, factors: list[Tensor]) -> MultivariateNormal:
    return MultivariateNormal(mean, torch.stack([factor.tril().T @ factor.tril() for factor in factors]))


def prior(classes: int, features: int) -> MultivariateNormal:
    return MultivariateNormal(torch.zeros(classes, features, dtype=torch.float64), torch.eye(features, dtype=torch.float64))


def test_divergence_against_torch_distributions(head):
    expected = kl_divergence(posterior(head.mean, list(head.factors)), prior(3, 5)).sum()
    _, divergence = head.sample(1, torch.Generator().manual_seed(0))
    torch.testing.assert_close(divergence, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(head.divergence(), expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(
        head.covariance(), posterior(head.mean, list(head.factors)).covariance_matrix, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("draws", [1, 4])
def test_gradients_against_autograd(head, draws):
    """Samples and divergence written out with a masked factor; the same noise."""
    weights, divergence = head.sample(draws, torch.Generator().manual_seed(3))
    cotangent = torch.randn(draws, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    found = torch.autograd.grad((weights * cotangent).sum() + 0.3 * divergence, list(head.parameters()))
    noise = torch.randn(draws, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    mean = head.mean.detach().requires_grad_()
    factors = [factor.detach().requires_grad_() for factor in head.factors]
    sampled = mean + torch.einsum("dci,cij->dcj", noise, torch.stack([factor.tril() for factor in factors]))
    torch.testing.assert_close(weights, sampled, rtol=1e-12, atol=1e-12)
    value = (sampled * cotangent).sum() + 0.3 * kl_divergence(posterior(mean, factors), prior(3, 5)).sum()
    expected = torch.autograd.grad(value, [mean, *factors])
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def test_samples_have_the_mean_and_the_covariance(head):
    with torch.no_grad():
        weights, _ = head.sample(40000, torch.Generator().manual_seed(1))
        torch.testing.assert_close(weights.mean(0), head.mean, rtol=0, atol=0.05)
        for index in range(3):
            torch.testing.assert_close(weights[:, index].T.cov(), head.covariance()[index], rtol=0, atol=0.1)


def test_starts_at_the_prior():
    head = GaussianHead(4, 2)
    assert head.divergence().item() == 0
    assert torch.equal(head.covariance(), torch.eye(4).expand(2, 4, 4))


def test_descent_keeps_factors_triangular(head):
    optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
    for step in range(3):
        weights, divergence = head.sample(1, torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        (weights.square().sum() + divergence).backward()
        optimizer.step()
    assert all(torch.equal(factor, factor.tril()) for factor in head.factors)


def test_a_point_has_one_sample_and_no_divergence():
    head = PointHead(4, 2)
    weights, divergence = head.sample(5, torch.Generator())
    assert torch.equal(weights[0], head.weights())
    assert len(weights) == 1
    assert divergence.item() == 0


def test_a_scale_that_is_no_covariance_is_refused():
    with pytest.raises(ConfigError, match="initial_scale=0"):
        GaussianHead(4, 2, initial_scale=0)
