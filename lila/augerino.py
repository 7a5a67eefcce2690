"""Augerino (Benton et al., 2020), the baseline: eta by the training loss, which is paid for being wide.

    loss(theta, eta) = -1/N log p(D | theta, eta) - strength |eta|_2 + weight_decay / 2 |theta|^2

with the same averaged network, distribution and number of copies as LILA. Weights and eta descend it together, eta by its
own Adam, from the first epoch on. At eta = 0 the norm has no gradient; its term is then taken as 0.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lila.averaged import AveragedNetwork
from lila.distribution import Distribution
from lila.prediction import predict_averaged
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.batches import derived_generator
from symlab.trainer.descent import Optimizer, PosteriorDescent, cosine_annealed, weights_of
from symlab.trainer.protocol import Batch, TrainingPlan
from symlab.trainer.trajectory import Trajectory


class Augerino:
    """``optimizer`` of the weights: None is Adam."""

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        seed: int,
        distribution: Callable[[], Distribution],
        samples: int = 31,
        prediction_samples: int | None = None,
        strength: float = 0.01,
        weight_decay: float = 1e-4,
        optimizer: Optimizer | None = None,
        learning_rate: float = 0.005,
        final_learning_rate: float = 1e-6,
        invariance_learning_rate: float = 0.005,
        final_invariance_learning_rate: float = 0.005,
    ):
        self.model, self.plan, self.data, self.seed, self.strength = model, plan, data, seed, strength
        self.distribution = distribution().to(next(model.parameters()).device)
        self.learnt = list(self.distribution.parameters())
        if not self.learnt:
            raise ConfigError("learner.distribution has no parameters: Augerino has nothing to learn; use learner=map")
        self.averaged = AveragedNetwork(model, self.distribution, samples, prediction_samples)
        # The descent divides precisions by N; this is weight_decay for every tensor.
        precisions = dict.fromkeys(weights_of(self.averaged), weight_decay * plan.train_size)
        self.descent = PosteriorDescent(
            self.averaged,
            plan,
            precisions,
            learning_rate,
            final_learning_rate,
            optimizer,
            trained=model.parameters(),
        )
        self.rates = (invariance_learning_rate, final_invariance_learning_rate)
        self.invariance_optimizer = torch.optim.Adam(self.learnt, lr=invariance_learning_rate)
        self.trajectory = Trajectory()

    def step(self, batch: Batch) -> dict[str, float]:
        done = self.descent.steps_done
        for group in self.invariance_optimizer.param_groups:
            group["lr"] = cosine_annealed(*self.rates, done, self.plan.total_steps)
        self.invariance_optimizer.zero_grad(set_to_none=True)
        reward = self.reward()
        reward.backward()
        copies = self.averaged.copies(batch.inputs, derived_generator(self.seed, "copies", done))
        metrics = self.descent.step(Batch(copies, batch.targets))  # its backward pass reaches eta through the copies
        self.invariance_optimizer.step()
        self.distribution.project()
        return metrics | {"loss": metrics["loss"] + reward.item()}

    def reward(self) -> Tensor:
        """- strength |eta|_2."""
        return -self.strength * torch.linalg.vector_norm(torch.cat([part.flatten() for part in self.learnt]))

    def end_epoch(self, epoch: int) -> dict[str, float]:
        self.trajectory.add(epoch, self.distribution.values(), self.reward().item())
        return self.distribution.describe(self.data.input_shape)

    def predict(self, inputs: Tensor) -> Tensor:
        return predict_averaged(self.averaged, inputs, self.seed)

    def arrays(self) -> dict[str, np.ndarray]:
        """``generators (G,)``; after every epoch ``epoch (T,)``, ``eta (T, G)`` and ``objective (T,)``, here eta's term of
        the loss."""
        return self.trajectory.arrays() | {"generators": np.array(self.distribution.generators, dtype=np.str_)}

    def state_dict(self) -> dict[str, Any]:
        return {
            "descent": self.descent.state_dict(),  # eta is part of its model
            "invariance_optimizer": self.invariance_optimizer.state_dict(),
            "trajectory": self.trajectory.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state_dict(state["descent"])
        self.invariance_optimizer.load_state_dict(state["invariance_optimizer"])
        self.trajectory.load_state_dict(state["trajectory"])
