"""From a network to the states that follow an initial one (thesis, section 2.7.2).

    neural ODE            dz/dt = F(z),          F: 4 V -> 4 V
    Hamiltonian network   dz/dt = J grad H(z),   H: 4 V -> scalar,   J = (0 1; -1 0)

A state is (x1, x2, p1, p2), four vectors of R^3. An equivariant F and the field of an invariant H give equivariant flows.
"""

import torch
from torch import Tensor, nn

from emlp_rpp.dynamics.held import held_matrices
from emlp_rpp.dynamics.integration import runge_kutta
from emlp_rpp.models import NetworkFactory, Signature
from symlab.errors import ConfigError

_VECTORS = 4
_SPACE = (3, 0)


class HamiltonianField(nn.Module):
    """(B, 2m) -> (B, 2m), from a network (B, 2m) -> (B, 1)."""

    def __init__(self, hamiltonian: nn.Module):
        super().__init__()
        self.hamiltonian = hamiltonian

    def forward(self, states: Tensor) -> Tensor:
        differentiate = torch.is_grad_enabled()
        with torch.enable_grad():
            states = states if states.requires_grad else states.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(self.hamiltonian(states).sum(), states, create_graph=differentiate)
        by_position, by_momentum = gradient.chunk(2, dim=-1)
        return torch.cat([by_momentum, -by_position], dim=-1)


class Flow(nn.Module):
    """(B, n) -> (B, intervals * n): the states after ``interval``, 2 ``interval``, ... seconds."""

    def __init__(self, field: nn.Module, intervals: int, interval: float, steps_per_interval: int):
        super().__init__()
        self.field = field
        self.intervals, self.interval, self.steps_per_interval = intervals, interval, steps_per_interval

    def forward(self, states: Tensor) -> Tensor:
        return self.follow(states, self.intervals, self.steps_per_interval).flatten(1)

    def follow(self, states: Tensor, intervals: int, steps_per_interval: int) -> Tensor:
        """(B, n) -> (B, intervals, n)."""
        with held_matrices(self.field):
            return runge_kutta(self.field, states, intervals, self.interval, steps_per_interval)


def _flow(field: nn.Module, input_shape: tuple[int, ...], n_outputs: int, interval: float, steps_per_interval: int) -> Flow:
    (size,) = input_shape
    if n_outputs % size:
        raise ConfigError(f"{n_outputs} outputs do not fit: whole states of {size} numbers are needed")
    return Flow(field, n_outputs // size, interval, steps_per_interval)


def neural_ode(
    input_shape: tuple[int, ...],
    n_outputs: int,
    network: NetworkFactory,
    interval: float = 0.2,
    steps_per_interval: int = 2,
) -> Flow:
    """``interval``: seconds between two states of the data; ``steps_per_interval``: of the integrator while training."""
    signature = Signature(_SPACE, vectors=_VECTORS, output_rank=1, output_copies=_VECTORS)
    return _flow(network.build(signature), input_shape, n_outputs, interval, steps_per_interval)


def hamiltonian_flow(
    input_shape: tuple[int, ...],
    n_outputs: int,
    network: NetworkFactory,
    interval: float = 0.2,
    steps_per_interval: int = 2,
) -> Flow:
    """As ``neural_ode``, with the field of a Hamiltonian."""
    field = HamiltonianField(network.build(Signature(_SPACE, vectors=_VECTORS, output_rank=0)))
    return _flow(field, input_shape, n_outputs, interval, steps_per_interval)
