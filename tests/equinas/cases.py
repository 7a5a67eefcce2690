"""What several tests of EquiNAS share."""

import torch
from torch import Tensor, nn

from equinas.fibres import act_on_features
from equinas.network import EquivariantNetwork
from symlab.groups import D4, GROUPS, Group, act

PAIRS = [(large, small) for large in GROUPS for small in GROUPS if small < large]


def network(group: str = "D4", extent: int = 8, weight_norm: bool = False, prior: str | None = None) -> EquivariantNetwork:
    return EquivariantNetwork(
        (2, extent, extent),
        3,
        group=group,
        prior=prior,
        layers=4,
        channels=8,
        kernel_size=3,
        hidden=8,
        pooled_after=(1, 3),
        weight_norm=weight_norm,
    )


def train(model: nn.Module, extent: int, steps: int = 50, optimizer: torch.optim.Optimizer | None = None) -> None:
    """Towards labels that have none of the symmetries, so that whatever may diverge does."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(12, 2, extent, extent, generator=generator)
    targets = torch.arange(12) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1) if optimizer is None else optimizer
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), targets).backward()
        optimizer.step()


def difference(first: Tensor, second: Tensor) -> float:
    return (first - second).abs().max().item()


def equivariance_error(layer: nn.Module, features: Tensor, group: Group, lifts: bool = False) -> float:
    """Of a map between features with the channels of D4, or from images to such features."""
    errors = []
    for element in group.elements:
        moved = act(element, features) if lifts else act_on_features(element, features, D4)
        errors.append(difference(layer(moved), act_on_features(element, layer(features), D4)))
    return max(errors)


def invariance_error(model: nn.Module, images: Tensor, group: Group) -> float:
    expected = model(images)
    return max(difference(model(act(element, images)), expected) for element in group.elements)
