"""Laplace approximation of the log marginal likelihood and its ascent in the prior precisions.

    log p(D | eta) ~ log p(D | theta*) + log p(theta*) - 1/2 log det (H + Delta) + P/2 log 2 pi

ELLA Eq. 9 (printed there as a loss: with the opposite sign), LILA Eq. 9. H is the Gauss-Newton matrix of the data, one
curvature block at a time, Delta the prior precisions. Given the spectra of the blocks, the value and its gradient in the
log precisions cost a pass over eigenvalues; no data and no new decomposition are needed (for precisions per unit: one of
the rescaled factor).

The data's part is a number for most likelihoods. For a regression with M = N C targets, noise sigma and residuals r,

    log p(D | theta*) = -|r|^2 / (2 sigma^2) - M (log sigma + 1/2 log 2 pi)
    H(sigma)          = H(sigma_fit) sigma_fit^2 / sigma^2

so sigma is learnt along with the precisions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Regression
from symlab.laplace.factor import decompose
from symlab.laplace.prior import GaussianPrior
from symlab.laplace.spectrum import Spectrum
from symlab.laplace.stack import SMALL, SpectrumStack


class DataFit:
    """The log-likelihood of the training data at theta*, as the fit found it."""

    def __init__(self, log_likelihood: Tensor | float):
        self._log_likelihood = log_likelihood

    def log_likelihood(self) -> Tensor | float:
        return self._log_likelihood

    def curvature_scale(self) -> Tensor | float:
        """What the curvature of the fit is to be multiplied with."""
        return 1.0


class GaussianDataFit(DataFit):
    """The same for a regression, whose noise may change after the fit: ``fitted_log_noise`` is what the curvature was
    taken with."""

    def __init__(self, likelihood: Regression, sum_of_squares: float, n_targets: int, fitted_log_noise: float | None = None):
        self.likelihood = likelihood
        self.sum_of_squares = sum_of_squares
        self.n_targets = n_targets
        self.fitted_log_noise = likelihood.log_noise.item() if fitted_log_noise is None else fitted_log_noise

    @classmethod
    def from_log_likelihood(cls, likelihood: Regression, log_likelihood: float, n_targets: int) -> "GaussianDataFit":
        """|r|^2 read off the log-likelihood at the present noise."""
        log_noise = likelihood.log_noise.item()
        constant = n_targets * (log_noise + 0.5 * math.log(2 * math.pi))
        squares = max(0.0, -2 * math.exp(2 * log_noise) * (log_likelihood + constant))
        return cls(likelihood, squares, n_targets, log_noise)

    def log_likelihood(self) -> Tensor:
        log_noise = self.likelihood.log_noise
        scaled = 0.5 * self.sum_of_squares * torch.exp(-2 * log_noise)
        return -scaled - self.n_targets * (log_noise + 0.5 * math.log(2 * math.pi))

    def curvature_scale(self) -> Tensor:
        return torch.exp(2 * (self.fitted_log_noise - self.likelihood.log_noise))


class LogMarginalLikelihood:
    """Call it for the value: a float64 scalar, differentiable in ``prior.log_precision`` (and in the noise of a
    GaussianDataFit).

    ``parameters`` is theta* by name, of exactly the parameters that the spectra cover.
    """

    def __init__(
        self, spectra: Sequence[Spectrum], prior: GaussianPrior, parameters: Mapping[str, Tensor], data_fit: DataFit
    ):
        covered = [name for spectrum in spectra for name in spectrum.block.names]
        missing, extra = set(prior.shapes) - set(covered), set(covered) - set(prior.shapes)
        if missing or extra or len(covered) != len(set(covered)):
            raise ConfigError(
                f"prior and curvature must cover the same parameters once: without curvature {sorted(missing)}, "
                f"without prior {sorted(extra)}, curvature of {covered}"
            )
        self.spectra = spectra
        self.prior = prior
        decompose(factor for spectrum in spectra for factor in (spectrum.inputs, spectrum.outputs))
        one_number = [spectrum for spectrum in spectra if prior.precision_of(spectrum.block).dim() == 0]
        self._small = [spectrum for spectrum in one_number if spectrum.n_parameters <= SMALL]
        self._others = [spectrum for spectrum in spectra if spectrum not in self._small]
        self._stack = SpectrumStack(self._small) if self._small else None
        self.data_fit = data_fit
        self._squares = prior.squares(parameters).detach()

    @property
    def n_parameters(self) -> int:
        return self.prior.n_parameters

    def log_prior(self) -> Tensor:
        return self.prior.log_density_of_squares(self._squares)

    def log_det(self) -> Tensor:
        """log det (H + Delta), the sum over blocks."""
        scale = self.data_fit.curvature_scale()
        terms = [spectrum.log_det(self.prior.precision_of(spectrum.block), scale) for spectrum in self._others]
        if self._stack is not None:
            precisions = torch.stack([self.prior.precision_of(spectrum.block) for spectrum in self._small])
            terms.append(self._stack.log_det(precisions, scale))
        return torch.stack(terms).sum()

    def __call__(self) -> Tensor:
        volume = 0.5 * self.n_parameters * math.log(2 * math.pi) - 0.5 * self.log_det()
        return self.data_fit.log_likelihood() + self.log_prior() + volume


@dataclass(frozen=True)
class PriorTrajectory:
    """Before the first step and after each: T + 1 values."""

    log_marginal_likelihood: Tensor  # (T + 1,)
    log_precision: Tensor  # (T + 1, groups)
    log_noise: Tensor | None  # (T + 1,) where the noise was learnt


def optimise_prior(
    objective: LogMarginalLikelihood,
    steps: int = 20,
    learning_rate: float = 0.1,
    learn_noise: bool = False,
    optimizer: torch.optim.Optimizer | None = None,
) -> PriorTrajectory:
    """Adam ascent in the log precisions (and the log noise). ELLA App. F.6 learns hyperparameters at rate 0.1.

    An ``optimizer`` made once over ``prior.parameters()`` keeps its moments from fit to fit; ``learning_rate`` is then
    its own.
    """
    learnt: list[nn.Parameter] = [objective.prior.log_precision]
    log_noise: nn.Parameter | None = None
    if learn_noise:
        if not isinstance(objective.data_fit, GaussianDataFit):
            raise ConfigError("learn_noise: only a regression has noise to learn, and its fit must be a GaussianDataFit")
        log_noise = objective.data_fit.likelihood.log_noise
        learnt.append(log_noise)
    if optimizer is None:
        optimizer = torch.optim.Adam(learnt, lr=learning_rate)
    values, precisions, noises = [], [], []
    for step in range(steps + 1):
        value = objective()
        values.append(value.detach())
        precisions.append(objective.prior.log_precision.detach().clone())
        if log_noise is not None:
            noises.append(log_noise.detach().clone())
        if step < steps:
            gradients = torch.autograd.grad(value, learnt)
            for parameter, gradient in zip(learnt, gradients, strict=True):
                parameter.grad = -gradient
            optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return PriorTrajectory(torch.stack(values), torch.stack(precisions), torch.stack(noises) if noises else None)
