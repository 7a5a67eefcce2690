"""Learning a flow from chunks of trajectories, and rolling it out for as long as the test trajectories last."""

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from emlp_rpp.data.double_spring import TrajectoryData, angular_momentum
from emlp_rpp.dynamics.flow import Flow
from emlp_rpp.dynamics.measures import geometric_mean, log_error, relative_error
from emlp_rpp.regression import Regression
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.protocol import TrainingPlan

Array = NDArray[np.float64]


class Dynamics(Regression):
    """``rollout_steps``: of the integrator between two points of a test trajectory; finer than in training, so that what is
    measured is the field that was learnt."""

    model: Flow

    def __init__(
        self,
        model: torch.nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        learning_rate: float = 3e-3,
        validations: int = 50,
        rollout_steps: int = 4,
    ):
        if not isinstance(data, TrajectoryData) or not isinstance(model, Flow):
            raise ConfigError("learner=dynamics needs trajectories and a flow: data=double_spring and model=neural_ode, say")
        super().__init__(model, plan, data, learning_rate, validations)
        self.true, self.rollout_steps = data.rollouts.numpy(), rollout_steps

    @cached_property
    def rollouts(self) -> Array:
        """(N, times, 12): from the initial conditions of the test trajectories, with the final weights."""
        kind: Tensor = next(self.model.parameters())
        start = torch.tensor(self.true[:, 0], dtype=kind.dtype, device=kind.device)
        self.model.eval()
        with torch.no_grad():
            later = self.model.follow(start, self.true.shape[1] - 1, self.rollout_steps)
        return np.concatenate([self.true[:, :1], later.double().cpu().numpy()], axis=1)

    @property
    def _errors(self) -> tuple[Array, Array]:
        """Of the state and of the angular momentum about z, (N, times) each."""
        momenta = (angular_momentum(states)[..., None] for states in (self.rollouts, self.true))
        return relative_error(self.rollouts, self.true), relative_error(*momenta)

    def final_metrics(self) -> dict[str, float]:
        state, momentum = self._errors
        return {"test/rollout_error": geometric_mean(state), "test/angular_momentum_error": geometric_mean(momentum)}

    def arrays(self) -> dict[str, np.ndarray]:
        """Means and standard deviations of log errors over trajectories, and the first trajectory as an example."""
        found: dict[str, np.ndarray] = {"true": self.true[0], "predicted": self.rollouts[0]}
        for name, error in zip(("state", "momentum"), self._errors):
            logarithm = log_error(error)
            found |= {f"{name}_log_mean": logarithm.mean(0), f"{name}_log_std": logarithm.std(0)}
        return found
