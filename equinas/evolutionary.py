"""EquiNAS_E, Algorithm 1: evolution by the equivariance relaxation morphism, with training in between.

    generation    every network of the population gets children with one layer relaxed (``equinas.evolution.mutations``),
                  which inherit its weights; all train for ``generation_epochs``; the whole Pareto front of (1 - validation
                  accuracy, parameters) is kept, filled up to ``population_size`` by accuracy

The population starts with one network, all layers of the largest group. Everybody trains on the same batches, each with an
optimiser of its own at a constant rate. Evolution draws nothing at random: a search that was stopped anywhere and taken up
again ends with the same population. ``model`` and predictions are those of the most accurate individual. What the paper
reports, and so what ``final_metrics`` calls the test error and accuracy, are means over the final population.
"""

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from equinas.batch_statistics import BatchStatistics
from equinas.evolution import mutations, select
from equinas.network import EquivariantNetwork
from equinas.population import NOBODY, History, Individual, group_orders, orders_of
from equinas.relaxation import StateOption
from symlab.data.dataset import Dataset, Split
from symlab.errors import ConfigError
from symlab.trainer.descent import Optimizer
from symlab.trainer.protocol import Batch, TrainingPlan


class EvolutionarySearch:
    """``optimizer``: None is SGD without momentum. ``optimizer_state``: whether what an optimiser knows about a layer is
    carried over to the relaxed one or reset. ``statistics_size``: of ``equinas.batch_statistics``, before validation."""

    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        population_size: int = 5,
        generation_epochs: float = 0.5,
        optimizer: Optimizer | None = None,
        optimizer_state: StateOption = "carry",
        learning_rate: float = 0.1,
        evaluation_batch_size: int = 500,
        statistics_size: int | None = None,
    ):
        if not isinstance(model, EquivariantNetwork):
            raise ConfigError("EquiNAS_E relaxes the layers of equinas.network.EquivariantNetwork: use model=equinas")
        if data.validation is None:
            raise ConfigError("EquiNAS_E selects by validation accuracy: set data.validation_size")
        self.plan, self.data, self.statistics = plan, data, BatchStatistics(data, statistics_size)
        self.population_size, self.optimizer_state = population_size, optimizer_state
        self.make = torch.optim.SGD if optimizer is None else optimizer
        self.learning_rate, self.evaluation_batch_size = learning_rate, evaluation_batch_size
        self.generation_steps = max(1.0, generation_epochs * plan.steps_per_epoch)  # half an epoch may end between steps
        self.template = model
        self.individuals = [Individual(0, NOBODY, model, self.make, learning_rate)]
        self.next_number, self.steps_done, self.is_bred = 1, 0, False
        self.history = History()

    @property
    def model(self) -> EquivariantNetwork:
        """Of the most accurate individual; parents come first, in order of accuracy."""
        return self.individuals[0].network

    @property
    def generation(self) -> int:
        """Generations that are over."""
        return int(self.steps_done / self.generation_steps + 1e-9)

    def step(self, batch: Batch) -> dict[str, float]:
        if not self.is_bred:
            self.breed()
        before = self.generation
        metrics, *_ = [individual.train(batch) for individual in self.individuals]
        self.steps_done += 1
        if self.generation > before:
            self.survive()
        return metrics

    def breed(self) -> None:
        """Add all children of all individuals."""
        for parent in list(self.individuals):
            for mutation in mutations(parent.network.groups):
                self.individuals.append(parent.child(self.next_number, mutation, self.optimizer_state))
                self.next_number += 1
        self.is_bred = True

    def survive(self) -> None:
        """Validate everybody and select the next parents."""
        assert self.data.validation is not None
        for individual in self.individuals:
            self.statistics.renew(individual.network)
            individual.accuracy = 1 - self.error(individual, self.data.validation)
        chosen = select([individual.costs for individual in self.individuals], self.population_size)
        survivors = [self.individuals[index] for index in chosen]
        for individual in self.individuals:
            if individual.was_selected and individual not in survivors:
                self.history.test_errors[individual.number] = self.error(individual, self.data.test)
        for individual in survivors:
            individual.was_selected = True
        self.individuals, self.is_bred = survivors, False
        self.history.add(self.generation, survivors)

    @torch.no_grad()
    def error(self, individual: Individual, split: Split) -> float:
        wrong = 0
        for inputs, targets in zip(
            split.inputs.split(self.evaluation_batch_size), split.targets.split(self.evaluation_batch_size)
        ):
            predicted = individual.predict(self.data.normalise(inputs).to(next(self.model.parameters()).dtype)).argmax(-1)
            wrong += int((predicted != targets).sum())
        return wrong / len(split)

    def end_epoch(self, epoch: int) -> dict[str, float]:
        if epoch + 1 == self.plan.epochs and self.is_bred:
            self.survive()  # the last generation was cut short
        best = self.individuals[0]
        found = {"population/size": float(len(self.individuals)), "population/best_accuracy": best.accuracy}
        return found | {"population/best_parameters": float(best.parameters)} | group_orders(orders_of(best.network))

    def final_metrics(self) -> dict[str, float]:
        """Over the final population; where the front has more, over its ``population_size`` most accurate."""
        top = self.individuals[: self.population_size]
        for individual in self.individuals:
            self.history.test_errors[individual.number] = self.error(individual, self.data.test)
        errors = [self.history.test_errors[individual.number] for individual in top]
        orders = torch.stack([orders_of(individual.network).double() for individual in top]).mean(0)
        mean = statistics.fmean(errors)
        found = {"test/error": mean, "test/accuracy": 1 - mean, "population/best_test_error": errors[0]}
        found |= {"population/test_error_std": statistics.pstdev(errors), "generations": float(self.generation)}
        found["population/kept_start"] = self.history.share_of_generations_with(Individual.describe(self.template))
        return found | group_orders(orders)

    def predict(self, inputs: Tensor) -> Tensor:
        return self.individuals[0].predict(inputs)

    def arrays(self) -> dict[str, np.ndarray]:
        return self.history.arrays()

    def state_dict(self) -> dict[str, Any]:
        return {
            "individuals": [individual.state_dict() for individual in self.individuals],
            "next_number": self.next_number,
            "steps_done": self.steps_done,
            "is_bred": self.is_bred,
            "history": self.history.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.individuals = [
            Individual.restored(own, self.template, self.make, self.learning_rate) for own in state["individuals"]
        ]
        self.next_number, self.steps_done = state["next_number"], state["steps_done"]
        self.is_bred = state["is_bred"]
        self.history.load_state_dict(state["history"])
