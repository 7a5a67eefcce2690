"""Differentiable Laplace: weights by Adam, prior precisions by the marginal likelihood, in turn (ELLA Sections 4, 5, F.6).

Weights theta descend the MAP objective under the present precisions, one delta_g for each parameter tensor
(``PosteriorDescent``). After ``burn_in`` epochs, and then ``every`` so many, the curvature of the network is taken on the
training data without augmentation (Kronecker-factored exact Gauss-Newton, expand setting, biases in blocks of their own) and
Adam makes ``prior_steps`` steps in the log precisions on

    L_eta = -log p(D | theta*) - log p(theta* | delta) - P/2 log 2 pi + 1/2 log det (H + Delta)          ELLA Eq. 9

whose moments are kept from fit to fit. The last epoch always ends with a fit, so every run has its L_eta. Predictions are
those of the network at theta*: what was learnt enters them through the weights, which were trained under the learnt prior.

# Paper: the learning rate of hyperparameters is annealed by a cosine; the released code leaves it constant. Here it follows
# the cosine from fit to fit; final_prior_learning_rate = prior_learning_rate leaves it constant.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification, Regression
from symlab.laplace import GaussianPrior, Laplace
from symlab.laplace.summary import summarise
from symlab.trainer.batches import derived_generator
from symlab.trainer.descent import PosteriorDescent, cosine_annealed, hyperparameter_names, weights_of
from symlab.trainer.protocol import Batch, TrainingPlan


class DifferentiableLaplace:
    """``fit_size``: data points of a fit, drawn anew for each one and scaled up to all N; None takes all of them.

    ``data`` and ``seed`` decide, together with the epoch, what a fit sees.
    """

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        seed: int,
        prior_precision: float = 1.0,
        learning_rate: float = 0.01,
        final_learning_rate: float = 0.0,
        burn_in: int = 10,
        every: int = 5,
        prior_steps: int = 20,
        prior_learning_rate: float = 0.1,
        final_prior_learning_rate: float = 0.0,
        fit_size: int | None = None,
        fit_batch_size: int = 150,
    ):
        least = {"burn_in": 0, "every": 1, "prior_steps": 0, "fit_size": 1, "fit_batch_size": 1}
        given = {"burn_in": burn_in, "every": every, "prior_steps": prior_steps, "fit_batch_size": fit_batch_size}
        for key, value in (given | {"fit_size": fit_size}).items():
            if value is not None and value < least[key]:
                raise ConfigError(f"learner.{key}={value} does not fit: it must be at least {least[key]}")
        self.model, self.plan, self.data, self.seed = model, plan, data, seed
        self.burn_in, self.every, self.prior_steps = burn_in, every, prior_steps
        self.prior_learning_rate, self.final_prior_learning_rate = prior_learning_rate, final_prior_learning_rate
        self.fit_size, self.fit_batch_size = min(fit_size or len(data.train), len(data.train)), fit_batch_size
        self.likelihood = Classification() if data.n_classes else Regression()
        self.prior = GaussianPrior(weights_of(model), "tensor", prior_precision)
        self.prior_optimizer = torch.optim.Adam(self.prior.parameters(), lr=prior_learning_rate)
        self.descent = PosteriorDescent(model, plan, self._precisions(), learning_rate, final_learning_rate)
        self.fits_done = 0

    def step(self, batch: Batch) -> dict[str, float]:
        return self.descent.step(batch)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.descent.predict(inputs)

    def fit_epochs(self) -> list[int]:
        """The epochs, counted from 0, that end with a fit."""
        due = range(max(0, self.burn_in - 1), self.plan.epochs, self.every)
        return sorted({*due, self.plan.epochs - 1})

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """A fit and its prior steps where one is due; L_eta is reported per data point, as ELLA Table 2 prints it."""
        if epoch not in self.fit_epochs():
            return {}
        laplace = self.fit(epoch)
        self.update_prior(laplace)
        return self.report(laplace)

    def fit(self, epoch: int) -> Laplace:
        """The Laplace approximation at the present weights and precisions."""
        self.model.eval()
        # Curvature is a sum of squares over all data: it needs more digits than a mixed-precision forward pass has.
        with torch.autocast(self.data.train.inputs.device.type, enabled=False):
            return Laplace.fit(
                self.model,
                self.likelihood,
                self._fit_batches(epoch),
                prior=self.prior,
                n_data=len(self.data.train),
                exclude=hyperparameter_names(self.model),
            )

    def update_prior(self, laplace: Laplace) -> None:
        """``prior_steps`` steps up the marginal likelihood; weights then descend under the new precisions."""
        fits = max(len(self.fit_epochs()), self.fits_done + 1)
        rate = cosine_annealed(self.prior_learning_rate, self.final_prior_learning_rate, self.fits_done, fits)
        for group in self.prior_optimizer.param_groups:
            group["lr"] = rate
        laplace.optimise_prior(self.prior_steps, optimizer=self.prior_optimizer)
        self.descent.precisions = self._precisions()
        self.fits_done += 1

    @torch.no_grad()
    def report(self, laplace: Laplace) -> dict[str, float]:
        """Of the fit as a whole, of every tensor, and what the model itself makes of these (``describe_fit``)."""
        tensors = summarise(laplace)
        sizes = {name: tensor.numel() for name, tensor in laplace.mean.items()}
        effective = sum(tensors[name].normalised_effective_parameters * sizes[name] for name in sizes)
        metrics = {
            "train/negative_log_marginal_likelihood": -laplace.log_marginal_likelihood().item() / laplace.n_data,
            "train/log_likelihood": laplace.log_likelihood / laplace.n_data,
            "train/effective_parameters": effective,
        }
        for name, tensor in tensors.items():
            metrics |= {f"{quantity}/{name}": value for quantity, value in vars(tensor).items()}
        describe: Callable[..., dict[str, float]] | None = getattr(self.model, "describe_fit", None)
        if describe is not None:
            metrics |= describe(tensors)
        return metrics

    def state_dict(self) -> dict[str, Any]:
        return {
            "descent": self.descent.state_dict(),
            "prior": self.prior.state_dict(),
            "prior_optimizer": self.prior_optimizer.state_dict(),
            "fits_done": self.fits_done,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state_dict(state["descent"])
        self.prior.load_state_dict(state["prior"])
        self.prior_optimizer.load_state_dict(state["prior_optimizer"])
        self.fits_done = state["fits_done"]

    def _precisions(self) -> dict[str, float]:
        return {name: precision.item() for name, precision in self.prior.precisions().items()}

    def _fit_batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        inputs, targets = self.data.train.inputs, self.data.train.targets
        chosen = torch.arange(len(targets))
        if self.fit_size < len(targets):
            order = torch.randperm(len(targets), generator=derived_generator(self.seed, "fit", epoch))
            chosen = order[: self.fit_size]
        dtype = next(self.model.parameters()).dtype
        for part in chosen.to(inputs.device).split(self.fit_batch_size):
            yield self.data.normalise(inputs[part]).to(dtype), targets[part]
