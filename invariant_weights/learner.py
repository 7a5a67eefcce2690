"""Weights and invariances by the lower bound on the marginal likelihood, Eqs. 9 and 10, together at every step.

    loss = 1/M sum_i -log p( y_i | W_2 phi(x_i; eta) ) + KL(q || p) / N,      W_2 ~ q,   T_1..T_S ~ p_eta

is the negative bound of a data point, estimated on a batch of M out of N (SGVB), with ``draws`` samples of W_2 and one set
of transformations. Adam descends it in everything that is learnt: mu and L of the output layer, eta, and the first layer
where it has parameters; all rates follow the same cosine. With ``PointHead`` there is no KL and this is maximum likelihood.

The bound that is reported (``train/elbo``) is of the trained network over all training data, with draws for each batch.
Predictions use the mean of W_2 and S transformations drawn once for the run, so that they depend on nothing but their input.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from invariant_weights.network import InvariantNetwork
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.batches import derived_generator
from symlab.trainer.descent import cosine_annealed
from symlab.trainer.protocol import Batch, TrainingPlan
from symlab.trainer.trajectory import Trajectory
from symlab.transformations.affine import GENERATORS

EVALUATED_AT_ONCE = 500


class InvariantWeights:
    """``learning_rate`` is that of the first layer; mean and factors of the output layer and eta have their own. Each goes
    down to ``final_share`` of itself. ``kept_filters``: how many filters are kept after every epoch, for figures."""

    def __init__(
        self,
        model: InvariantNetwork,
        plan: TrainingPlan,
        data: Dataset,
        seed: int,
        learning_rate: float = 0.001,
        mean_learning_rate: float = 0.001,
        factor_learning_rate: float = 0.001,
        invariance_learning_rate: float = 0.001,
        final_share: float = 0.0,
        draws: int = 1,
        kept_filters: int = 0,
    ):
        if not isinstance(model, InvariantNetwork):
            raise ConfigError(
                "learner=invariant_weights trains an invariant network: choose model=invariant_rff or invariant_relu"
            )
        self.model, self.plan, self.data, self.seed, self.draws = model, plan, data, seed, draws
        factors = [each for each in model.head.parameters() if each is not model.head.mean]
        rated = [
            (list(model.basis.parameters()), learning_rate),
            ([model.head.mean], mean_learning_rate),
            (factors, factor_learning_rate),
            ([model.transformations.eta], invariance_learning_rate),
        ]
        groups = [
            {"params": parameters, "start": start, "end": final_share * start}
            for parameters, start in rated
            if parameters and parameters[0].requires_grad
        ]
        self.optimizer = torch.optim.Adam(groups, lr=learning_rate, fused=True)
        self.steps_done = 0
        self.kept_filters = min(kept_filters, model.basis.units)
        self.trajectory = Trajectory()
        self.snapshots: list[Tensor] = []
        self._epoch_loss: list[float] = []

    def step(self, batch: Batch) -> dict[str, float]:
        for group in self.optimizer.param_groups:
            group["lr"] = cosine_annealed(group["start"], group["end"], self.steps_done, self.plan.total_steps)
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        likelihood, divergence, logits = self.bound(batch.inputs, batch.targets, ("step", self.steps_done))
        loss = divergence / self.plan.train_size - likelihood
        loss.backward()
        self.optimizer.step()
        self.steps_done += 1
        accuracy = (logits.mean(0).argmax(-1) == batch.targets).double().mean().item()
        self._epoch_loss.append(loss.item())
        return {"loss": loss.item(), "accuracy": accuracy}

    def bound(self, inputs: Tensor, targets: Tensor, draw: tuple[str | int, ...]) -> tuple[Tensor, Tensor, Tensor]:
        """Mean log likelihood of the batch, KL(q || p), and logits (D, M, C); a function of ``draw``."""
        noise = self.model.noise(derived_generator(self.seed, "transformations", *draw))
        features = self.model.features(inputs, noise.to(inputs.device))
        weights, divergence = self.model.head.sample(self.draws, derived_generator(self.seed, "weights", *draw))
        logits = features @ weights.mT
        repeated = targets.expand(len(logits), -1).flatten()
        return -functional.cross_entropy(logits.flatten(0, 1), repeated), divergence, logits

    def end_epoch(self, epoch: int) -> dict[str, float]:
        self.trajectory.add(
            epoch, self.model.transformations.values(), sum(self._epoch_loss) / max(1, len(self._epoch_loss))
        )
        self._epoch_loss = []
        if self.kept_filters:
            self.snapshots.append(self.model.filters()[: self.kept_filters].detach().cpu().clone())
        return self.model.transformations.describe(self.data.input_shape)

    @torch.no_grad()
    def final_metrics(self) -> dict[str, float]:
        """The bound of the trained network, a data point: ``train/elbo`` and its two parts."""
        self.model.eval()
        inputs, targets = self.data.train.inputs, self.data.train.targets
        dtype = self.model.head.weights().dtype
        total, divergence = 0.0, torch.zeros(())
        for index, (part, of_part) in enumerate(zip(inputs.split(EVALUATED_AT_ONCE), targets.split(EVALUATED_AT_ONCE))):
            likelihood, divergence, _ = self.bound(self.data.normalise(part).to(dtype), of_part, ("evaluation", index))
            total += likelihood.item() * len(of_part)
        per_point = divergence.item() / self.plan.train_size
        expected = total / len(targets)
        return {"train/elbo": expected - per_point, "train/log_likelihood": expected, "train/divergence": per_point}

    def predict(self, inputs: Tensor) -> Tensor:
        self.model.eval()
        noise = self.model.noise(derived_generator(self.seed, "prediction"))
        return self.model.features(inputs, noise.to(inputs.device)) @ self.model.head.weights().T

    def arrays(self) -> dict[str, np.ndarray]:
        """``generators (6,)``; after every epoch ``epoch (T,)``, ``eta (T, 6)`` and ``objective (T,)``, its mean loss; where
        filters are kept, ``filters (T, K, C, h, w)``."""
        arrays = self.trajectory.arrays() | {"generators": np.array(GENERATORS, dtype=np.str_)}
        if self.snapshots:
            arrays["filters"] = torch.stack(self.snapshots).float().numpy()
        return arrays

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "steps_done": self.steps_done,
            "trajectory": self.trajectory.state_dict(),
            "snapshots": list(self.snapshots),
            "epoch_loss": list(self._epoch_loss),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps_done = state["steps_done"]
        self.trajectory.load_state_dict(state["trajectory"])
        self.snapshots, self._epoch_loss = list(state["snapshots"]), list(state["epoch_loss"])
