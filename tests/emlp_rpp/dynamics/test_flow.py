"""Flows of networks: their fields, their symmetry, what an invariant Hamiltonian conserves."""

import numpy as np
import pytest
import torch
from torch import nn

from emlp_rpp.data.double_spring import angular_momentum, derivative, initial_states
from emlp_rpp.dynamics import Flow, HamiltonianField, hamiltonian_flow, neural_ode
from emlp_rpp.dynamics.held import held_matrices
from emlp_rpp.groups import SO, D, Embedded, Group, O
from emlp_rpp.models import Equivariant, Plain
from emlp_rpp.representations import V
from symlab.errors import ConfigError


class DoubleSpring(nn.Module):
    """The printed Hamiltonian, (B, 12) -> (B, 1)."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        x1, x2, p1, p2 = states.split(3, dim=1)
        springs = (x1.norm(dim=1) - 1).square() + ((x1 - x2).norm(dim=1) - 1).square()
        kinetic = p1.square().sum(1) + p2.square().sum(1)
        return ((springs + kinetic) / 2 + x1[:, 2] + x2[:, 2])[:, None]


def states(count: int = 5) -> torch.Tensor:
    return torch.tensor(initial_states(count, np.random.default_rng(0)))


def small(build: object, group: Group | None) -> Flow:
    torch.manual_seed(0)
    network = Plain(16, 2) if group is None else Equivariant(group, 40, 2)
    return build((12,), 48, network).double()  # type: ignore[operator]


def test_the_field_of_a_hamiltonian_with_and_without_gradients():
    field = HamiltonianField(DoubleSpring())
    expected = torch.tensor(derivative(states().numpy()))
    torch.testing.assert_close(field(states()), expected)
    with torch.no_grad():
        found = field(states())
    torch.testing.assert_close(found, expected)
    assert not found.requires_grad


@pytest.mark.parametrize("build", [neural_ode, hamiltonian_flow])
@pytest.mark.parametrize("group", [Embedded(O(2)), Embedded(SO(2)), Embedded(D(6))], ids=str)
def test_flows_of_equivariant_networks_are_equivariant(build: object, group: Group):
    flow = small(build, group)
    generator = np.random.default_rng(3)
    matrix = torch.tensor((4 * V)(group).matrix(group.random_element(generator)))
    with torch.no_grad():
        moved, expected = flow(states() @ matrix.T), flow(states()).unflatten(1, (4, 12)) @ matrix.T
    torch.testing.assert_close(moved.unflatten(1, (4, 12)), expected)


@pytest.mark.parametrize("group", [Embedded(O(2)), Embedded(SO(2))], ids=str)
def test_an_invariant_hamiltonian_conserves_angular_momentum(group: Group):
    with torch.no_grad():
        followed = small(hamiltonian_flow, group).follow(states(), 10, 4).numpy()
        other = small(hamiltonian_flow, None).follow(states(), 10, 4).numpy()
    start = angular_momentum(states().numpy())[:, None]
    assert np.abs(angular_momentum(followed) - start).max() < 1e-7
    assert np.abs(angular_momentum(other) - start).max() > 1e-4


@pytest.mark.parametrize("build", [neural_ode, hamiltonian_flow])
def test_a_prediction_does_not_depend_on_its_batch(build: object):
    flow = small(build, None)
    torch.testing.assert_close(flow(states())[:1], flow(states()[:1]))


@pytest.mark.parametrize("build", [neural_ode, hamiltonian_flow])
def test_matrices_that_are_held_have_the_same_gradients(build: object):
    flow = small(build, Embedded(O(2)))

    def gradients(pieces: int) -> list[torch.Tensor]:
        flow.zero_grad()
        current = states()
        for _ in range(pieces):
            current = flow.follow(current, 2 // pieces, 1)[:, -1]
        current.square().sum().backward()
        return [p.grad.clone() for p in flow.parameters() if p.grad is not None]

    # one piece builds every matrix once, two pieces twice
    for once, twice in zip(gradients(1), gradients(2), strict=True):
        torch.testing.assert_close(once, twice)


def test_matrices_are_built_anew_after_they_were_held():
    flow = small(neural_ode, Embedded(O(2)))
    before = flow(states())
    with held_matrices(flow), held_matrices(flow):
        torch.testing.assert_close(flow(states()), before)
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter.mul_(1.1)
    assert not torch.allclose(flow(states()), before)


def test_outputs_must_be_whole_states():
    with pytest.raises(ConfigError, match="47 outputs"):
        neural_ode((12,), 47, Plain(8, 1))
