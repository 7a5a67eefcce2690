"""Differentiable Laplace: weights by Adam, prior precisions by the marginal likelihood, in turn (ELLA Sections 4, 5, F.6).

Weights theta descend the MAP objective under the present precisions, one delta_g for each parameter tensor
(``PosteriorDescent``); at the end of some epochs the precisions climb the marginal likelihood (``PriorAscent``). Predictions
are those of the network at theta*: what was learnt enters them through the weights, which were trained under the learnt
prior.

# Paper: the learning rate of hyperparameters is annealed by a cosine; the released code leaves it constant. Here it follows
# the cosine from fit to fit; final_prior_learning_rate = prior_learning_rate leaves it constant.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from symlab.data.dataset import Dataset
from symlab.laplace import Laplace
from symlab.trainer.descent import PosteriorDescent
from symlab.trainer.prior_ascent import FitPlan, PriorAscent
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
        fits = FitPlan(burn_in, every, prior_steps, prior_learning_rate, final_prior_learning_rate, fit_size, fit_batch_size)
        self.model, self.plan, self.data = model, plan, data
        self.ascent = PriorAscent(model, plan, data, seed, fits, prior_precision)
        self.prior, self.prior_optimizer, self.likelihood = self.ascent.prior, self.ascent.optimizer, self.ascent.likelihood
        self.fit_size, self.prior_steps = self.ascent.fit_size, prior_steps
        self.descent = PosteriorDescent(model, plan, self.ascent.precisions(), learning_rate, final_learning_rate)

    def step(self, batch: Batch) -> dict[str, float]:
        return self.descent.step(batch)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.descent.predict(inputs)

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """A fit and its prior steps where one is due."""
        if epoch not in self.fit_epochs():
            return {}
        laplace = self.fit(epoch)
        self.update_prior(laplace)
        return self.report(laplace)

    def fit_epochs(self) -> list[int]:
        """The epochs, counted from 0, that end with a fit."""
        return self.ascent.fit_epochs()

    def fit(self, epoch: int) -> Laplace:
        """The Laplace approximation at the present weights and precisions."""
        return self.ascent.fit(epoch)

    def report(self, laplace: Laplace) -> dict[str, float]:
        return self.ascent.report(laplace)

    def update_prior(self, laplace: Laplace) -> None:
        """Steps up the marginal likelihood; weights then descend under the new precisions."""
        self.ascent.update(laplace)
        self.descent.precisions = self.ascent.precisions()

    def state_dict(self) -> dict[str, Any]:
        return {"descent": self.descent.state_dict(), **self.ascent.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state_dict(state["descent"])
        self.ascent.load_state_dict(state)
