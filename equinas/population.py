"""The individuals of EquiNAS_E: networks with optimisers of their own, children that inherit both, and their history."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from equinas.evolution import Mutation
from equinas.network import EquivariantNetwork
from equinas.relaxation import StateOption
from symlab.groups import named
from symlab.trainer.descent import Optimizer, negative_log_likelihood
from symlab.trainer.protocol import Batch

NOBODY = -1  # the parent of the first individual


class Individual:
    """``number`` tells individuals apart over the whole search; ``accuracy`` is that of the last validation."""

    def __init__(self, number: int, parent: int, network: EquivariantNetwork, make: Optimizer, learning_rate: float):
        self.number, self.parent, self.network = number, parent, network
        self.make, self.learning_rate = make, learning_rate
        self.optimizer = make(network.parameters(), lr=learning_rate)
        self.accuracy = 0.0
        self.was_selected = False

    @property
    def architecture(self) -> str:
        return self.describe(self.network)

    @staticmethod
    def describe(network: EquivariantNetwork) -> str:
        """The groups of the layers, first to last."""
        return " ".join(map(str, network.groups))

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())

    @property
    def costs(self) -> tuple[float, float]:
        return 1 - self.accuracy, float(self.parameters)

    def child(self, number: int, mutation: Mutation, optimizer_state: StateOption) -> "Individual":
        """A copy with one layer relaxed, weights and optimiser inherited; it computes what the parent does."""
        born = Individual(number, self.number, copy.deepcopy(self.network), self.make, self.learning_rate)
        born.optimizer.load_state_dict(copy.deepcopy(self.optimizer.state_dict()))  # loading alone would share tensors
        layer, subgroup = mutation
        born.network.relax_layer(layer, subgroup, born.optimizer, optimizer_state)
        return born

    def train(self, batch: Batch) -> dict[str, float]:
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        outputs = self.network(batch.inputs)
        loss = negative_log_likelihood(outputs, batch.targets)
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.item(), "accuracy": (outputs.argmax(-1) == batch.targets).float().mean().item()}

    def predict(self, inputs: Tensor) -> Tensor:
        self.network.eval()
        return self.network(inputs)

    def state_dict(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "parent": self.parent,
            "groups": [str(group) for group in self.network.groups],
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "accuracy": self.accuracy,
            "was_selected": self.was_selected,
        }

    @staticmethod
    def restored(
        state: Mapping[str, Any], template: EquivariantNetwork, make: Optimizer, learning_rate: float
    ) -> "Individual":
        """``template``: a network of the architecture that the search started from."""
        network = copy.deepcopy(template)
        network.relax_to([named(name) for name in state["groups"]])
        network.load_state_dict(state["network"])
        found = Individual(state["number"], state["parent"], network, make, learning_rate)
        found.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        found.accuracy, found.was_selected = state["accuracy"], state["was_selected"]
        return found


class History:
    """Who was selected in which generation, for Figure 1. An individual's architecture never changes."""

    def __init__(self) -> None:
        self.selected: list[tuple[int, int, float]] = []  # generation, individual, validation accuracy
        self.members: dict[int, tuple[int, int, str]] = {}  # parent, parameters, architecture, by individual
        self.test_errors: dict[int, float] = {}  # measured when an individual is removed, or at the end

    def add(self, generation: int, individuals: Sequence[Individual]) -> None:
        for individual in individuals:
            self.selected.append((generation, individual.number, individual.accuracy))
            facts = individual.parent, individual.parameters, individual.architecture
            self.members[individual.number] = facts

    def share_of_generations_with(self, architecture: str) -> float:
        """In how many of all generations a network of that architecture was selected."""
        generations = {generation for generation, _, _ in self.selected}
        found = {generation for generation, number, _ in self.selected if self.members[number][2] == architecture}
        return len(found) / len(generations) if generations else 0.0

    def arrays(self) -> dict[str, np.ndarray]:
        """``selected (T, 2)``: generation and individual, ``selected_accuracy (T,)``; for each individual that was ever
        selected ``individual``, ``parent``, ``parameters``, ``architecture`` and ``test_error`` (N,)."""
        numbers = sorted(self.members)
        return {
            "selected": np.array([entry[:2] for entry in self.selected], dtype=np.int64).reshape(-1, 2),
            "selected_accuracy": np.array([entry[2] for entry in self.selected], dtype=np.float64),
            "individual": np.array(numbers, dtype=np.int64),
            "parent": np.array([self.members[number][0] for number in numbers], dtype=np.int64),
            "parameters": np.array([self.members[number][1] for number in numbers], dtype=np.int64),
            "architecture": np.array([self.members[number][2] for number in numbers], dtype=np.str_),
            "test_error": np.array([self.test_errors.get(number, np.nan) for number in numbers]),
        }

    def state_dict(self) -> dict[str, Any]:
        return {"selected": list(self.selected), "members": dict(self.members), "test_errors": dict(self.test_errors)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.selected = [tuple(entry) for entry in state["selected"]]
        self.members = {number: tuple(facts) for number, facts in state["members"].items()}
        self.test_errors = dict(state["test_errors"])


def group_orders(orders: Tensor) -> dict[str, float]:
    """Mean order of the groups of the first and of the second half of the layers; ``orders`` (layers,)."""
    half = len(orders) // 2
    return {
        "group_order/early_layers": orders[:half].double().mean().item(),
        "group_order/late_layers": orders[half:].double().mean().item(),
    }


def orders_of(network: EquivariantNetwork) -> Tensor:
    return torch.tensor([len(group) for group in network.groups])
