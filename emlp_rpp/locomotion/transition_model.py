"""Transition models x_t+1 = x_t + f(x_t, u_t) (thesis, appendix A.2.3.4) with f an MLP, an EMLP or an RPP-EMLP

    f: rho_X + rho_U -> rho_X

Layout: (B, n + T m), an initial state and T actions, -> (B, T n), the states that follow.
"""

import math

import torch
from torch import Tensor, nn

from emlp_rpp.dynamics.held import held_matrices
from emlp_rpp.errors import InputSizeError
from emlp_rpp.locomotion.environments import Locomotion, Name, locomotion
from emlp_rpp.networks import EMLP, MLP
from emlp_rpp.pathways import PathwayEMLP, PathwayPrior
from symlab.errors import ConfigError

REACH = 10.0


class TransitionModel(nn.Module):
    """``change`` is f, (..., n + m) -> (..., n).

    States longer than ``radius`` are brought back to that length: f is a polynomial of high degree where it has bilinear
    layers, so that a rollout which leaves the states it has learnt may be infinite a few steps later. Lengths stay the same
    under the group, so this is equivariant. There is no limit until ``limit_states`` is called.
    """

    radius: Tensor

    def __init__(self, robot: Locomotion, change: nn.Module):
        super().__init__()
        self.robot, self.change = robot, change
        self.register_buffer("radius", torch.tensor(math.inf))

    def limit_states(self, known: Tensor) -> None:
        """To ``REACH`` times the length of the longest of these states (..., n)."""
        self.radius.fill_(REACH * float(known.norm(dim=-1).max()))

    def _limited(self, states: Tensor) -> Tensor:
        if not torch.isfinite(self.radius):
            return states
        return states * (self.radius / states.norm(dim=-1, keepdim=True).clamp(min=self.radius))

    def forward(self, inputs: Tensor) -> Tensor:
        n, m = self.robot.state.size, self.robot.action.size
        if inputs.ndim != 2 or inputs.shape[1] <= n or (inputs.shape[1] - n) % m:
            raise InputSizeError(
                f"an input of shape {tuple(inputs.shape)} does not fit: (batch, {n} + T {m}) is needed, a state of "
                f"{self.robot.name} and T actions"
            )
        states, actions = inputs[:, :n], inputs[:, n:].unflatten(1, (-1, m))
        return self.follow(states, actions).flatten(1)

    def follow(self, states: Tensor, actions: Tensor) -> Tensor:
        """(B, n) and (B, T, m) -> (B, T, n)."""
        points = []
        with held_matrices(self.change):
            for action in actions.unbind(1):
                states = self._limited(states + self.change(torch.cat([states, action], dim=-1)))
                points.append(states)
        return torch.stack(points, dim=1)


def _checked(robot: Locomotion, input_shape: tuple[int, ...], n_outputs: int) -> Locomotion:
    n, m = robot.state.size, robot.action.size
    steps = n_outputs // n
    if n_outputs % n or input_shape != (n + steps * m,):
        raise ConfigError(
            f"model.environment={robot.name} does not fit: its states and actions have {n} and {m} numbers, the data have "
            f"{input_shape} -> {n_outputs}; give the model the environment of the data"
        )
    return robot


def mlp_transitions(
    input_shape: tuple[int, ...], n_outputs: int, environment: Name, channels: int = 256, layers: int = 2
) -> TransitionModel:
    robot = _checked(locomotion(environment), input_shape, n_outputs)
    n, m = robot.state.size, robot.action.size
    return TransitionModel(robot, MLP(n + m, n, channels=channels, layers=layers))


def emlp_transitions(
    input_shape: tuple[int, ...], n_outputs: int, environment: Name, channels: int = 256, layers: int = 2
) -> TransitionModel:
    robot = _checked(locomotion(environment), input_shape, n_outputs)
    return TransitionModel(robot, EMLP(robot.state + robot.action, robot.state, robot.hidden(channels), layers))


def rpp_transitions(
    input_shape: tuple[int, ...],
    n_outputs: int,
    environment: Name,
    prior: PathwayPrior,
    channels: int = 256,
    layers: int = 2,
) -> TransitionModel:
    robot = _checked(locomotion(environment), input_shape, n_outputs)
    source = robot.state + robot.action
    return TransitionModel(robot, PathwayEMLP(source, robot.state, robot.hidden(channels), layers, prior))
