"""Prior precisions by the marginal likelihood while the weights are trained (ELLA Sections 4, 5, F.6; LILA Section 4).

After ``burn_in`` epochs, and then ``every`` so many, the curvature of the network is taken on the training data without
augmentation (by default the Kronecker-factored exact Gauss-Newton matrix, expand setting, biases in blocks of their own) and
Adam makes ``prior_steps`` steps in the log precisions on

    L_eta = -log p(D | theta*) - log p(theta* | delta) - P/2 log 2 pi + 1/2 log det (H + Delta)          ELLA Eq. 9

whose moments are kept from fit to fit. The last epoch always ends with a fit, so every run has its L_eta.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification, Regression
from symlab.laplace import GaussianPrior, Laplace
from symlab.laplace.summary import summarise
from symlab.trainer.batches import derived_generator
from symlab.trainer.descent import cosine_annealed, hyperparameter_names, weights_of
from symlab.trainer.protocol import TrainingPlan

View = Callable[[Tensor, torch.Generator], Tensor]  # what the model is shown of a batch of inputs, random by the generator


@dataclass(frozen=True)
class FitPlan:
    """When fits are made, on what, and the steps after each.

    ``fit_size``: data points of a fit, drawn anew for each one and scaled up to all N; None takes all of them.
    """

    burn_in: int = 10
    every: int = 5
    prior_steps: int = 20
    prior_learning_rate: float = 0.1
    final_prior_learning_rate: float = 0.0
    fit_size: int | None = None
    fit_batch_size: int = 150
    prior_structure: Literal["scalar", "layer", "tensor"] = "tensor"
    structure: Literal["kfac", "diagonal", "full"] = "kfac"
    kind: Literal["ggn", "empirical"] = "ggn"

    def __post_init__(self) -> None:
        least = {"burn_in": 0, "every": 1, "prior_steps": 0, "fit_size": 1, "fit_batch_size": 1}
        for key, lowest in least.items():
            value = getattr(self, key)
            if value is not None and value < lowest:
                raise ConfigError(f"learner.{key}={value} does not fit: it must be at least {lowest}")

    def epochs(self, training: TrainingPlan) -> list[int]:
        """The epochs, counted from 0, that end with a fit."""
        due = range(max(0, self.burn_in - 1), training.epochs, self.every)
        return sorted({*due, training.epochs - 1})


class PriorAscent:
    """``data`` and ``seed`` decide, together with the epoch, what a fit sees; ``view`` how the model is shown its inputs."""

    def __init__(
        self,
        model: nn.Module,
        training: TrainingPlan,
        data: Dataset,
        seed: int,
        plan: FitPlan,
        prior_precision: float,
        view: View | None = None,
    ):
        self.model, self.training, self.data, self.seed, self.plan, self.view = model, training, data, seed, plan, view
        self.fit_size = min(plan.fit_size or len(data.train), len(data.train))
        self.likelihood = Classification() if data.n_classes else Regression()
        self.prior = GaussianPrior(weights_of(model), plan.prior_structure, prior_precision)
        self.optimizer = torch.optim.Adam(self.prior.parameters(), lr=plan.prior_learning_rate)
        self.fits_done = 0

    def fit_epochs(self) -> list[int]:
        return self.plan.epochs(self.training)

    def fit(self, epoch: int) -> Laplace:
        """The Laplace approximation at the present weights and precisions."""
        self.model.eval()
        # Curvature is a sum of squares over all data: it needs more digits than a mixed-precision forward pass has.
        with torch.autocast(self.data.train.inputs.device.type, enabled=False):
            return Laplace.fit(
                self.model,
                self.likelihood,
                ((inputs.detach(), targets) for inputs, targets in self.batches(epoch)),
                self.plan.structure,
                self.plan.kind,
                self.prior,
                n_data=len(self.data.train),
                exclude=hyperparameter_names(self.model),
            )

    def gradient(self, laplace: Laplace, epoch: int, hyperparameters: list[nn.Parameter]) -> list[Tensor]:
        """That of the log marginal likelihood, on the data and the random view of the fit (LILA Eq. 16)."""
        if not hyperparameters:
            return []
        with torch.autocast(self.data.train.inputs.device.type, enabled=False):
            return laplace.hyperparameter_gradient(self.batches(epoch), hyperparameters)

    def update(self, laplace: Laplace) -> None:
        """``prior_steps`` steps up the marginal likelihood, at a rate that is annealed from fit to fit."""
        rate = self.annealed(self.plan.prior_learning_rate, self.plan.final_prior_learning_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        laplace.optimise_prior(self.plan.prior_steps, optimizer=self.optimizer)
        self.fits_done += 1

    def annealed(self, start: float, end: float) -> float:
        """A rate that follows a cosine over the fits, at the present one."""
        return cosine_annealed(start, end, self.fits_done, max(len(self.fit_epochs()), self.fits_done + 1))

    def precisions(self) -> dict[str, float]:
        """Of every parameter tensor, by name."""
        return {name: self.prior.precision_of_parameter(name).item() for name in self.prior.shapes}

    @torch.no_grad()
    def report(self, laplace: Laplace) -> dict[str, float]:
        """Of the fit as a whole, of every tensor, and what the model itself makes of these (``describe_fit``).

        L_eta is reported per data point, as ELLA Table 2 prints it."""
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

    def batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """What the fit of an epoch sees: the same batches, and the same random view of them, at every call."""
        inputs, targets = self.data.train.inputs, self.data.train.targets
        chosen = torch.arange(len(targets))
        if self.fit_size < len(targets):
            order = torch.randperm(len(targets), generator=derived_generator(self.seed, "fit", epoch))
            chosen = order[: self.fit_size]
        dtype = next(self.model.parameters()).dtype
        for index, part in enumerate(chosen.to(inputs.device).split(self.plan.fit_batch_size)):
            shown = self.data.normalise(inputs[part]).to(dtype)
            if self.view is not None:
                shown = self.view(shown, derived_generator(self.seed, "view of the fit", epoch, index))
            yield shown, targets[part]

    def state_dict(self) -> dict[str, Any]:
        return {
            "prior": self.prior.state_dict(),
            "prior_optimizer": self.optimizer.state_dict(),
            "fits_done": self.fits_done,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.prior.load_state_dict(state["prior"])
        self.optimizer.load_state_dict(state["prior_optimizer"])
        self.fits_done = state["fits_done"]
