"""LILA: weights by descent, invariances and prior precisions by the marginal likelihood, in turn (Algorithm of App. H).

    weights theta    every batch: Adam or SGD on -1/N log p(D | theta, eta) - 1/N log p(theta | delta), with the network
                     averaged over S fresh copies of each input (Eqs. 1 and 10)
    eta and delta    after ``burn_in`` epochs, and then ``every`` so many: one Laplace fit of the averaged network
                     (Eqs. 9-15) on ``fit_size`` data points; one Adam step of eta along the two-pass gradient (Eqs. 8
                     and 16) at the present precisions, and ``prior_steps`` Adam steps of the log precisions

Both passes of a fit see the same draws. The averaged network is also what predicts; there every input is shown the same
``prediction_samples`` transformations, drawn once for the run, so that a prediction depends on nothing but its input.

Without parameters to learn (``lila.distribution.Unchanged`` and one sample) this is the paper's non-invariant baseline.

# Paper: Eq. 8 is a plain gradient step; like the released code we let Adam make it, so its scale does not matter.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from lila.averaged import AveragedNetwork
from lila.distribution import Distribution
from lila.prediction import predict_averaged
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.laplace import Laplace
from symlab.trainer.batches import derived_generator
from symlab.trainer.best import BestState
from symlab.trainer.descent import Optimizer, PosteriorDescent
from symlab.trainer.prior_ascent import FitPlan, PriorAscent
from symlab.trainer.protocol import Batch, TrainingPlan
from symlab.trainer.trajectory import Trajectory

OBJECTIVE = "train/negative_log_marginal_likelihood"


class LILA:
    """``fit_size``: data points of a fit, drawn anew for each one and scaled up to all N; None takes all of them.

    ``optimizer`` of the weights: None is Adam. ``restore_best``: the run ends with the weights, eta and precisions of the
    fit with the largest marginal likelihood.
    """

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        seed: int,
        distribution: Callable[[], Distribution],
        samples: int = 31,
        prediction_samples: int | None = None,
        prior_precision: float = 1.0,
        prior_structure: Literal["scalar", "layer", "tensor"] = "scalar",
        optimizer: Optimizer | None = None,
        learning_rate: float = 0.005,
        final_learning_rate: float = 1e-6,
        burn_in: int = 10,
        every: int = 1,
        prior_steps: int = 1,
        prior_learning_rate: float = 0.05,
        final_prior_learning_rate: float = 0.05,
        invariance_learning_rate: float = 0.05,
        final_invariance_learning_rate: float = 0.05,
        fit_size: int | None = 1000,
        fit_batch_size: int = 250,
        structure: Literal["kfac", "diagonal", "full"] = "kfac",
        kind: Literal["ggn", "empirical"] = "ggn",
        restore_best: bool = True,
    ):
        self.model, self.plan, self.data, self.seed = model, plan, data, seed
        self.distribution = distribution().to(next(model.parameters()).device)
        self.averaged = AveragedNetwork(model, self.distribution, samples, prediction_samples)
        fits = FitPlan(
            burn_in=burn_in,
            every=every,
            prior_steps=prior_steps,
            prior_learning_rate=prior_learning_rate,
            final_prior_learning_rate=final_prior_learning_rate,
            fit_size=fit_size,
            fit_batch_size=fit_batch_size,
            prior_structure=prior_structure,
            structure=structure,
            kind=kind,
        )
        self.ascent = PriorAscent(self.averaged, plan, data, seed, fits, prior_precision, view=self.averaged.copies)
        self.descent = PosteriorDescent(
            self.averaged,
            plan,
            self.ascent.precisions(),
            learning_rate,
            final_learning_rate,
            optimizer,
            trained=model.parameters(),
        )
        self.invariance_learning_rate = invariance_learning_rate
        self.final_invariance_learning_rate = final_invariance_learning_rate
        self.learnt = list(self.distribution.parameters())
        if self.learnt and len(self.ascent.fit_epochs()) < 2:  # after the last fit eta stays
            raise ConfigError(
                f"trainer.epochs={plan.epochs} with learner.burn_in={burn_in} leaves eta no step: it makes one an epoch "
                f"after the burn-in, so set trainer.epochs to some tens more"
            )
        self.invariance_optimizer = torch.optim.Adam(self.learnt, lr=invariance_learning_rate) if self.learnt else None
        self.best = BestState({"averaged": self.averaged, "prior": self.ascent.prior})
        self.restore_best = restore_best
        self.trajectory = Trajectory()

    def step(self, batch: Batch) -> dict[str, float]:
        generator = derived_generator(self.seed, "copies", self.descent.steps_done)
        with torch.no_grad():
            copies = self.averaged.copies(batch.inputs, generator)
        return self.descent.step(Batch(copies, batch.targets))

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """A fit and its steps where one is due; eta is reported as it is and in units that a person reads."""
        if epoch not in self.ascent.fit_epochs():
            return {}
        laplace = self.ascent.fit(epoch)
        is_last = epoch == self.plan.epochs - 1
        # First of all: the gradient needs eigenvectors, and with them come the eigenvalues that everything else needs.
        gradients = [] if is_last else self.ascent.gradient(laplace, epoch, self.learnt)
        objective = -laplace.log_marginal_likelihood().item() / laplace.n_data
        self.best.offer(objective)
        self.trajectory.add(epoch, self.distribution.values(), objective)
        metrics = self.ascent.report(laplace)
        if is_last:
            metrics[OBJECTIVE] = self._finish(objective)
        else:
            self._climb(laplace, gradients)
        return metrics | self.distribution.describe(self.data.input_shape)

    def predict(self, inputs: Tensor) -> Tensor:
        return predict_averaged(self.averaged, inputs, self.seed)

    def arrays(self) -> dict[str, np.ndarray]:
        """``generators (G,)``; of every fit, before its steps, ``epoch (T,)``, ``eta (T, G)`` and ``objective (T,)``, here
        -log p(D) / N."""
        return self.trajectory.arrays() | {"generators": np.array(self.distribution.generators, dtype=np.str_)}

    def state_dict(self) -> dict[str, Any]:
        optimizer = self.invariance_optimizer
        return {
            "descent": self.descent.state_dict(),  # eta is part of its model
            **self.ascent.state_dict(),
            "invariance_optimizer": None if optimizer is None else optimizer.state_dict(),
            "best": self.best.state_dict(),
            "trajectory": self.trajectory.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state_dict(state["descent"])
        self.ascent.load_state_dict(state)
        if self.invariance_optimizer is not None:
            self.invariance_optimizer.load_state_dict(state["invariance_optimizer"])
        self.best.load_state_dict(state["best"])
        self.trajectory.load_state_dict(state["trajectory"])

    def _climb(self, laplace: Laplace, gradients: list[Tensor]) -> None:
        """One step of eta and ``prior_steps`` of the precisions, both from the present point."""
        if self.invariance_optimizer is not None:
            for parameter, gradient in zip(self.learnt, gradients, strict=True):
                parameter.grad = -gradient
            rate = self.ascent.annealed(self.invariance_learning_rate, self.final_invariance_learning_rate)
            for group in self.invariance_optimizer.param_groups:
                group["lr"] = rate
            self.invariance_optimizer.step()
            self.invariance_optimizer.zero_grad(set_to_none=True)
            self.distribution.project()
        self.ascent.update(laplace)
        self.descent.precisions = self.ascent.precisions()

    def _finish(self, objective: float) -> float:
        """After the last fit nothing is trained any more: eta and precisions stay; returns the objective that was kept."""
        if not self.restore_best:
            return objective
        self.best.restore()
        self.descent.precisions = self.ascent.precisions()
        return self.best.score
