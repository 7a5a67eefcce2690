"""Learning transitions from chunks, and how far rollouts are from what the simulator did (thesis, Table 3.3).

    L(theta) = 1/B sum_n |rollout(x_n, u_n; theta) - x_n|_1  - 1/N log p(theta)

The norm is over all coordinates of all states of a chunk; p is the prior of residual pathways, where the model has any,
and 1 otherwise, and counts once for all N chunks. Adam, the rate annealed to zero by a cosine; a gradient longer than
``gradient_limit`` is shortened to it: one rollout that diverges has a gradient millions of times longer than others, and
Adam makes no steps to speak of for a thousand steps after it.

    test/rollout_error_T        geometric mean of |a - b| / (|a| + |b|) over the first T states and all test trajectories
    test/equivariance_error     geometric mean of Eq. 3.3 of the change f along the test trajectories, over all elements of
                                the group but the identity (some, of a continuous one)
    test/rollout_equivariance   the same of rollouts: rho(g) rollout(x, u) against rollout(rho(g) x, rho(g) u)

# Paper: names neither optimiser nor rate, nor of which function the equivariance error is.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from emlp_rpp.dynamics.measures import geometric_mean, log_error, relative_error
from emlp_rpp.locomotion.converters import Array
from emlp_rpp.locomotion.transition_model import TransitionModel
from emlp_rpp.locomotion.transitions import TransitionData
from emlp_rpp.pathways import adam, has_prior, negative_log_prior
from emlp_rpp.pathways.optimisation import set_learning_rate
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.descent import cosine_annealed
from symlab.trainer.protocol import Batch, TrainingPlan

HORIZONS = (10, 30, 100)


class TransitionLearning:
    model: TransitionModel

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        learning_rate: float = 1e-3,
        gradient_limit: float = 1000.0,
    ):
        if not isinstance(data, TransitionData) or not isinstance(model, TransitionModel):
            raise ConfigError(
                "learner=transitions needs recorded transitions and a model of them: data=locomotion and "
                "model=transition_mlp, say"
            )
        if model.robot.name != data.robot.name:
            raise ConfigError(f"model.environment={model.robot.name} does not fit: the data are of {data.robot.name}")
        self.model, self.data, self.plan, self.rate = model, data, plan, learning_rate
        self.gradient_limit, self.has_prior = gradient_limit, has_prior(model)
        model.limit_states(data.train.targets.unflatten(1, (-1, model.robot.state.size)))
        self.optimizer = adam(model, learning_rate)
        self.steps_done = 0

    def step(self, batch: Batch) -> dict[str, float]:
        rate = cosine_annealed(self.rate, 0.0, self.steps_done, self.plan.total_steps)
        set_learning_rate(self.optimizer, rate)
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        targets = batch.targets.to(batch.inputs.dtype)
        loss = (self.model(batch.inputs) - targets).abs().sum() / len(targets)
        objective = loss + negative_log_prior(self.model) / self.plan.train_size if self.has_prior else loss
        objective.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.gradient_limit)
        self.optimizer.step()
        self.steps_done += 1
        return {"loss": loss.item()}

    def end_epoch(self, epoch: int) -> dict[str, float]:
        return {}

    def predict(self, inputs: Tensor) -> Tensor:
        self.model.eval()
        return self.model(inputs)

    @torch.no_grad()
    def _follow(self, states: Tensor, actions: Tensor) -> Array:
        """(N, n), (N, T, m) -> (N, T, n)."""
        kind = next(self.model.parameters())
        self.model.eval()
        return self.model.follow(states.to(kind), actions.to(kind)).double().cpu().numpy()

    @cached_property
    def rollout_errors(self) -> Array:
        """(N, times), with the final weights."""
        predicted = self._follow(self.data.states[:, 0], self.data.actions)
        return relative_error(predicted, self.data.states[:, 1:].double().numpy())

    def _moved(self, representation: Any, element: Any, x: Tensor) -> Tensor:
        return x @ torch.from_numpy(representation.matrix(element)).to(x).mT

    @torch.no_grad()
    def equivariance_errors(self) -> Array:
        """Of f at the states and actions of the test trajectories: (elements, N times)."""
        robot, kind = self.data.robot, next(self.model.parameters())
        states, actions = self.data.states[:, :-1].flatten(0, 1).to(kind), self.data.actions.flatten(0, 1).to(kind)
        self.model.eval()
        change = self.model.change(torch.cat([states, actions], dim=-1))
        errors = []
        for element in robot.elements:
            moved = torch.cat([self._moved(robot.state, element, states), self._moved(robot.action, element, actions)], -1)
            pair = self._moved(robot.state, element, change), self.model.change(moved)
            errors.append(relative_error(*(each.double().cpu().numpy() for each in pair)))
        return np.stack(errors)

    def rollout_equivariance_errors(self) -> Array:
        """(elements, N, times)."""
        robot, start, actions = self.data.robot, self.data.states[:, 0], self.data.actions
        rollout = torch.from_numpy(self._follow(start, actions))
        errors = []
        for element in robot.elements:
            moved = self._follow(self._moved(robot.state, element, start), self._moved(robot.action, element, actions))
            errors.append(relative_error(self._moved(robot.state, element, rollout).numpy(), moved))
        return np.stack(errors)

    def final_metrics(self) -> dict[str, float]:
        horizons = [horizon for horizon in HORIZONS if horizon <= self.rollout_errors.shape[1]]
        found = {f"test/rollout_error_{horizon}": geometric_mean(self.rollout_errors[:, :horizon]) for horizon in horizons}
        found["test/equivariance_error"] = geometric_mean(self.equivariance_errors())
        found["test/rollout_equivariance"] = geometric_mean(self.rollout_equivariance_errors())
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """Mean and standard deviation of log errors over trajectories."""
        logarithm = log_error(self.rollout_errors)
        return {"state_log_mean": logarithm.mean(0), "state_log_std": logarithm.std(0)}

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "steps_done": self.steps_done,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps_done = state["steps_done"]
