"""The Laplace approximation of a trained network, in one object.

    laplace = Laplace.fit(model, Classification(), batches)     one pass over the data
    laplace.optimise_prior()                                    empirical Bayes: Adam on the log precisions
    laplace.log_marginal_likelihood()                           for choosing between models
    laplace.predict(inputs)                                     calibrated probabilities
    laplace.save(path); Laplace.load(path, model)

The parts live in ``spectrum`` (Kronecker algebra), ``prior``, ``marginal_likelihood`` and ``posterior``. A fit keeps a
copy of theta*, so training the model further does not change it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from symlab import kfac
from symlab.errors import ConfigError
from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.layers import Layer, find_layers
from symlab.kfac.likelihoods import Likelihood, Regression
from symlab.kfac.rules import RuleOptions
from symlab.laplace import predictive, storage
from symlab.laplace.hypergradient import hyperparameter_gradient
from symlab.laplace.marginal_likelihood import (
    DataFit,
    GaussianDataFit,
    LogMarginalLikelihood,
    PriorTrajectory,
    optimise_prior,
)
from symlab.laplace.posterior import Posterior, evaluating
from symlab.laplace.predictive import GaussianPrediction
from symlab.laplace.prior import GaussianPrior
from symlab.laplace.spectrum import spectra_of


class Laplace:
    """``log_likelihood`` is the sum over the ``n_data`` points that ``blocks`` were made of. ``n_outputs`` (C) is needed
    only to learn the noise of a regression; the curvature is then taken to scale with 1/sigma^2, as the Gauss-Newton
    matrix does. The default prior is one precision per layer, starting from 1."""

    def __init__(
        self,
        model: nn.Module,
        likelihood: Likelihood,
        blocks: Mapping[str, KroneckerBlock],
        log_likelihood: float,
        n_data: int,
        prior: GaussianPrior | None = None,
        n_outputs: int | None = None,
    ):
        own = dict(model.named_parameters())
        storage.check_parameters({n: s for b in blocks.values() for n, s in zip(b.names, b.shapes, strict=True)}, own)
        self.model = model
        self.likelihood = likelihood
        self.blocks = dict(blocks)
        self.log_likelihood = float(log_likelihood)
        self.n_data = n_data
        self.n_outputs = n_outputs
        self.mean = {name: own[name].detach().clone() for block in blocks.values() for name in block.names}
        self.prior = GaussianPrior(self.mean) if prior is None else prior
        self.data_fit = DataFit(self.log_likelihood)
        if isinstance(likelihood, Regression) and n_outputs is not None:
            self.data_fit = GaussianDataFit.from_log_likelihood(likelihood, self.log_likelihood, n_data * n_outputs)
        self.spectra = spectra_of(self.blocks.values())
        self.fit_options: dict[str, Any] | None = None
        self._posterior: tuple[Tensor, Posterior] | None = None

    @classmethod
    def fit(
        cls,
        model: nn.Module,
        likelihood: Likelihood,
        batches: Iterable[Any],
        structure: Literal["kfac", "diagonal", "full"] = "kfac",
        kind: Literal["ggn", "mc", "empirical"] = "ggn",
        prior: GaussianPrior | None = None,
        n_data: int | None = None,
        **options: Any,
    ) -> "Laplace":
        """One pass over ``batches`` with the model at theta*; ``options`` go to ``symlab.kfac.estimate``.

        Where ``batches`` are a sample of a larger data set, ``n_data`` is the size of that: log likelihood and curvature are
        scaled up to it.
        """
        options = {"structure": structure, "kind": kind, **options}
        found = kfac.estimate(model, likelihood, batches, **options)
        if n_data is not None:
            found = found.scaled_to(n_data)
        # The empirical Fisher goes with 1/sigma^4, so the noise cannot be learnt from one fit of it.
        n_outputs = None if kind == "empirical" else found.n_outputs
        laplace = cls(model, likelihood, found.blocks, found.log_likelihood, found.n_data, prior, n_outputs)
        laplace.fit_options = options
        return laplace

    @cached_property
    def objective(self) -> LogMarginalLikelihood:
        return LogMarginalLikelihood(self.spectra, self.prior, self.mean, self.data_fit)

    def log_marginal_likelihood(self) -> Tensor:
        """A float64 scalar, differentiable in the prior's log precisions (ELLA Eq. 9 without its minus sign)."""
        return self.objective()

    def optimise_prior(
        self,
        steps: int = 20,
        learning_rate: float = 0.1,
        learn_noise: bool = False,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> PriorTrajectory:
        """Raises the log marginal likelihood in the prior precisions (and the noise), in place."""
        if learn_noise and isinstance(self.likelihood, Regression) and self.n_outputs is None:
            raise ConfigError(
                "learn_noise: give n_outputs to Laplace(...); with the empirical Fisher the noise cannot be learnt"
            )
        return optimise_prior(self.objective, steps, learning_rate, learn_noise, optimizer)

    def hyperparameter_gradient(self, batches: Iterable[Any], hyperparameters: Sequence[Tensor]) -> list[Tensor]:
        """d log p(D | eta) / d eta for anything the function depends on besides its weights (LILA Eqs. 9 and 16).

        ``batches`` may be all data (exact) or a part of them (scaled up to the data of the fit).
        """
        if self.fit_options is None:
            raise ConfigError(
                "hyperparameter_gradient needs a fit made by Laplace.fit, which knows how its curvature was taken"
            )
        return hyperparameter_gradient(self, self.fit_options, batches, hyperparameters)

    def effective_parameters(self) -> dict[str, float]:
        """How many of each parameter tensor's entries the data decide, between 0 and its size (ELLA App. D.2)."""
        counts: dict[str, float] = {}
        with torch.no_grad():
            scale = self.data_fit.curvature_scale()
            for spectrum in self.spectra:
                counts |= spectrum.effective_parameters_by_name(self.prior.precision_of(spectrum.block), scale)
        return counts

    def posterior(self) -> Posterior:
        """The Gaussian over the weights at the present prior precisions (and noise); made again only when they changed."""
        now = torch.cat([self.prior.log_precision, torch.as_tensor(self.data_fit.curvature_scale()).reshape(1)]).detach()
        if self._posterior is None or not torch.equal(self._posterior[0], now):
            scale = self.data_fit.curvature_scale()
            made = Posterior(self.model, self.spectra, self.prior, self.mean, scale, layers=self._layers())
            self._posterior = (now, made)
        return self._posterior[1]

    def _layers(self) -> list[Layer] | None:
        """The layers of a Kronecker fit, with exact rows: whatever the fit did over shared positions, a Jacobian sums over
        them."""
        options = self.fit_options
        if options is None or options["structure"] != "kfac":
            return None
        with evaluating(self.model):
            rule_options = RuleOptions("expand", options.get("bias", "separate"))
            return find_layers(self.model, rule_options, options.get("rules"), options.get("exclude", ()))

    def predict(
        self,
        inputs: Tensor,
        method: predictive.Method | None = None,
        n_samples: int = 100,
        generator: torch.Generator | None = None,
    ) -> Tensor | GaussianPrediction:
        """Class probabilities (N, C); for a regression the mean and variance of the targets. Both in float64.

        Classification: ``probit`` (the default), ``monte_carlo`` over logits, ``weights``. Regression: the exact Gaussian
        of the linearised network (the default), or ``weights``.
        """
        return predictive.predict(self.posterior(), self.likelihood, inputs, method, n_samples, generator)

    def save(self, path: str | Path) -> None:
        """Everything but the model itself; theta* is part of it."""
        torch.save(storage.pack(self), path)

    @classmethod
    def load(cls, path: str | Path, model: nn.Module, likelihood: Likelihood | None = None) -> "Laplace":
        """A stored fit on ``model``, whose parameters must have the same names and shapes (their values do not matter).

        ``likelihood`` is needed only if it is one of your own; a regression given here takes the stored noise.
        """
        device = next(model.parameters()).device
        state = torch.load(path, map_location=device, weights_only=True)
        laplace = cls(**storage.unpack(state, model, likelihood))
        laplace.mean = state["mean"]
        if isinstance(laplace.likelihood, Regression):  # made at the noise of the fit, then moved to the learnt one
            storage.set_log_noise(laplace.likelihood, state["likelihood"]["log_noise"])
        return laplace
