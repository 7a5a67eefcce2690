"""EquiNAS_D, Algorithm 2: kernels Psi and architecture weights Z of [G]-mixed layers by descent, in turn.

    every step    Z by Adam on the loss of a batch drawn at random from the training set, at the present Psi,
                  then Psi by Adam on the loss of the epoch's next batch, at the new Z

Both at constant rates, without any penalty. Psi is everything that is not Z: kernels (of fixed norm), batch normalisations
and linear layers.

# Paper: the released code updates Psi first and leaves its gradient in place for Z; here as Algorithm 2 says.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from equinas.batch_statistics import BatchStatistics
from equinas.network import MixedNetwork
from equinas.population import group_orders
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.batches import derived_generator
from symlab.trainer.descent import Optimizer, PosteriorDescent, negative_log_likelihood, weights_of
from symlab.trainer.protocol import Batch, TrainingPlan


class DifferentiableSearch:
    """``optimizer`` of Psi: None is Adam. ``statistics_size``: of ``equinas.batch_statistics``, after every epoch."""

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        seed: int,
        optimizer: Optimizer | None = None,
        learning_rate: float = 0.01,
        architecture_learning_rate: float = 0.01,
        statistics_size: int | None = None,
    ):
        if not isinstance(model, MixedNetwork):
            raise ConfigError("EquiNAS_D weighs the groups of equinas.network.MixedNetwork: use model=equinas_mixed")
        self.model, self.plan, self.data, self.seed = model, plan, data, seed
        self.statistics = BatchStatistics(data, statistics_size)
        self.architecture = model.architecture_parameters()
        searched = {id(logits) for logits in self.architecture}
        kernels = [parameter for parameter in model.parameters() if id(parameter) not in searched]
        no_prior = dict.fromkeys(weights_of(model), 0.0)
        self.descent = PosteriorDescent(model, plan, no_prior, learning_rate, learning_rate, optimizer, trained=kernels)
        self.architecture_optimizer = torch.optim.Adam(self.architecture, lr=architecture_learning_rate)
        self.epochs: list[int] = []
        self.weights: list[Tensor] = []

    def step(self, batch: Batch) -> dict[str, float]:
        drawn = self.draw(self.descent.steps_done, batch)
        self.model.train()
        loss = negative_log_likelihood(self.model(drawn.inputs), drawn.targets)
        for logits, gradient in zip(self.architecture, torch.autograd.grad(loss, self.architecture), strict=True):
            logits.grad = gradient
        self.architecture_optimizer.step()
        return self.descent.step(batch) | {"architecture_loss": loss.item()}

    def draw(self, step: int, batch: Batch) -> Batch:
        """The batch for Z of a step, as many images as the other one has."""
        split = self.data.train
        generator = derived_generator(self.seed, "architecture", step)
        chosen = torch.randperm(len(split), generator=generator)[: len(batch.targets)].to(split.targets.device)
        return Batch(self.data.normalise(split.inputs[chosen]).to(batch.inputs.dtype), split.targets[chosen])

    def end_epoch(self, epoch: int) -> dict[str, float]:
        self.statistics.renew(self.model)
        weights = self.model.architecture()
        self.epochs.append(epoch)
        self.weights.append(weights.cpu())
        means = {f"architecture/{group}": weights[:, index].mean().item() for index, group in enumerate(self.model.groups)}
        orders = weights.cpu() @ torch.tensor([float(len(group)) for group in self.model.groups]).to(weights.dtype)
        return means | group_orders(orders)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.descent.predict(inputs)

    def arrays(self) -> dict[str, np.ndarray]:
        """``groups (G,)``; after every epoch ``epoch (T,)`` and ``architecture (T, L, G)``, the weights of all layers."""
        shape = (0, len(self.architecture), len(self.model.groups))
        return {
            "groups": np.array([str(group) for group in self.model.groups], dtype=np.str_),
            "epoch": np.array(self.epochs, dtype=np.int64),
            "architecture": torch.stack(self.weights).double().numpy() if self.weights else np.zeros(shape),
        }

    def state_dict(self) -> dict[str, Any]:
        return {
            "descent": self.descent.state_dict(),  # Z is part of its model
            "architecture_optimizer": self.architecture_optimizer.state_dict(),
            "epochs": list(self.epochs),
            "weights": list(self.weights),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state_dict(state["descent"])
        self.architecture_optimizer.load_state_dict(state["architecture_optimizer"])
        self.epochs, self.weights = list(state["epochs"]), list(state["weights"])
