"""From a Gaussian over the network's outputs, or draws of its weights, to a prediction of the targets.

Classification, p(y | x) = E softmax(f) for f ~ N(m, S), S = (N, C, C):

    probit         softmax(m_c / sqrt(1 + pi/8 S_cc)), MacKay's approximation class by class: no sampling
    monte carlo    the mean of softmax(m + S^1/2 e) over draws of e
    weights        the mean of softmax(f(x; theta)) over draws of theta: no linearisation

Regression: f is Gaussian already, so y has mean m and variance diag S + sigma^2. With draws of the weights, the mean and
variance of f over draws, plus sigma^2.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification, Likelihood, Regression
from symlab.laplace.posterior import Posterior

Method = Literal["probit", "monte_carlo", "weights"]

_ENTRIES = 2**22  # logits drawn at once: 32 MB


@dataclass(frozen=True)
class GaussianPrediction:
    """Mean and variance of each target, both (N, C)."""

    mean: Tensor
    variance: Tensor


def predict(
    posterior: Posterior,
    likelihood: Likelihood,
    inputs: Tensor,
    method: Method | None = None,
    n_samples: int = 100,
    generator: torch.Generator | None = None,
) -> Tensor | GaussianPrediction:
    """Class probabilities (N, C), or the mean and variance of a regression's targets."""
    if method is not None and method not in get_args(Method):
        raise ConfigError(f"method={method!r} is unknown: choose from {', '.join(get_args(Method))}")
    if isinstance(likelihood, Classification):
        if method == "weights":
            return average_over_weights(posterior, inputs, n_samples, generator)
        mean, covariance = posterior.functional_covariance(inputs)
        return monte_carlo(mean, covariance, n_samples, generator) if method == "monte_carlo" else probit(mean, covariance)
    if not isinstance(likelihood, Regression):
        raise ConfigError(
            f"no prediction is known for {type(likelihood).__name__}: use the posterior's functional_covariance or sample"
        )
    noise = likelihood.log_noise.detach().mul(2).exp()
    if method == "weights":
        drawn = moments_over_weights(posterior, inputs, n_samples, generator)
        return GaussianPrediction(drawn.mean, drawn.variance + noise)
    if method is not None:
        raise ConfigError(
            f"method={method!r} is for classes: a regression's prediction is exact without one, or use 'weights'"
        )
    mean, covariance = posterior.functional_covariance(inputs)
    return GaussianPrediction(mean, covariance.diagonal(dim1=-2, dim2=-1) + noise)


def probit(mean: Tensor, covariance: Tensor) -> Tensor:
    """Class probabilities (N, C) from logits' mean (N, C) and covariance (N, C, C)."""
    variance = covariance.diagonal(dim1=-2, dim2=-1)
    return (mean / (1 + math.pi / 8 * variance).sqrt()).softmax(-1)


def monte_carlo(mean: Tensor, covariance: Tensor, n_samples: int, generator: torch.Generator | None = None) -> Tensor:
    """Class probabilities (N, C), averaged over draws of the logits."""
    _check(n_samples, 1)
    # A root by eigenvectors, as the covariance may be singular: no curvature, or an output that no parameter moves.
    values, vectors = torch.linalg.eigh(covariance)
    root = vectors * values.clamp(min=0).sqrt()[:, None, :]
    total = torch.zeros_like(mean)
    at_once = max(1, _ENTRIES // mean.numel())
    for start in range(0, n_samples, at_once):
        count = min(at_once, n_samples - start)
        noise = torch.randn(count, *mean.shape, dtype=mean.dtype, device=mean.device, generator=generator)
        total += (mean + torch.einsum("ncd,snd->snc", root, noise)).softmax(-1).sum(0)
    return total / n_samples


def average_over_weights(
    posterior: Posterior, inputs: Tensor, n_samples: int, generator: torch.Generator | None = None
) -> Tensor:
    """Class probabilities (N, C), averaged over draws of the weights, one draw at a time."""
    _check(n_samples, 1)
    total = torch.zeros((), dtype=torch.float64, device=inputs.device)
    for draw in posterior.draws(n_samples, generator):
        total = total + posterior.outputs(inputs, draw).double().softmax(-1)
    return total / n_samples


def moments_over_weights(
    posterior: Posterior, inputs: Tensor, n_samples: int, generator: torch.Generator | None = None
) -> GaussianPrediction:
    """Mean and (unbiased) variance of the network's outputs over draws of the weights."""
    _check(n_samples, 2)
    # Deviations from the outputs at theta* keep the sum of squares from cancelling.
    centre = posterior.outputs(inputs).double()
    first, second = torch.zeros_like(centre), torch.zeros_like(centre)
    for draw in posterior.draws(n_samples, generator):
        deviation = posterior.outputs(inputs, draw).double() - centre
        first += deviation
        second += deviation.square()
    variance = (second - first.square() / n_samples) / (n_samples - 1)
    return GaussianPrediction(centre + first / n_samples, variance.clamp(min=0))


def _check(n_samples: int, least: int) -> None:
    if n_samples < least:
        raise ConfigError(f"n_samples={n_samples} does not fit: at least {least} draws are needed")
