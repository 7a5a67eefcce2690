import dataclasses
import io

import pytest
import torch

from equinas.evolution import pareto_front
from equinas.evolutionary import EvolutionarySearch
from equinas.network import EquivariantNetwork
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.models import MLP
from symlab.trainer.batches import epoch_batches
from symlab.trainer.protocol import Learner, TrainingPlan
from tests.contracts import LearnerContract


def small_network(data: Dataset) -> EquivariantNetwork:
    return EquivariantNetwork(
        data.input_shape, data.n_outputs, group="D4", layers=2, channels=16, kernel_size=3, hidden=16, pooled_after=(1,)
    )


class TestEvolutionarySearch(LearnerContract):
    epochs = 6

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return EvolutionarySearch(small_network(data), plan, data, population_size=3)


def search(data: Dataset, epochs: int = 3) -> EvolutionarySearch:
    """Generations of half an epoch: with three batches an epoch they end after steps 2, 3, 5, 6, ..."""
    torch.manual_seed(0)
    return EvolutionarySearch(small_network(data), TrainingPlan(60, 20, epochs), data, population_size=3)


def run(learner: EvolutionarySearch, data: Dataset, first: int, last: int) -> None:
    """Steps ``first`` to ``last`` (not included), as the training loop would make them."""
    for number in range(first, last):
        batches = list(epoch_batches(data, 20, "none", seed=0, epoch=number // 3))
        learner.step(batches[number % 3])
        if number % 3 == 2:
            learner.end_epoch(number // 3)


def test_the_first_generation(blobs):
    learner = search(blobs)
    run(learner, blobs, 0, 1)
    assert [individual.architecture for individual in learner.individuals] == ["D4 D4", "D4 D2", "D4 C4"]
    assert [individual.parent for individual in learner.individuals] == [-1, 0, 0]
    run(learner, blobs, 1, 2)
    assert learner.generation == 1
    assert not learner.is_bred
    accuracies = [individual.accuracy for individual in learner.individuals]
    assert accuracies == sorted(accuracies, reverse=True)


def test_generations_of_half_an_epoch_end_between_steps(blobs):
    learner, ends = search(blobs, 4), []
    for number in range(12):
        run(learner, blobs, number, number + 1)
        ends.append(learner.generation)
    assert ends == [0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8]


def test_the_front_is_among_the_survivors_and_the_smallest_stays(blobs):
    learner = search(blobs, 4)
    run(learner, blobs, 0, 12)
    costs = [individual.costs for individual in learner.individuals]
    assert pareto_front(costs)
    assert len(learner.individuals) >= 3
    # Nobody has fewer parameters than a network of the first architecture, so one of them is always on the front.
    assert any(individual.architecture == "D4 D4" for individual in learner.individuals)


def test_a_search_killed_in_generation_3_ends_with_the_same_population(blobs):
    unbroken, killed = search(blobs, 4), search(blobs, 4)
    run(unbroken, blobs, 0, 12)
    run(killed, blobs, 0, 4)  # two generations are over, the third has made one of its steps
    assert killed.generation == 2
    assert killed.is_bred
    file = io.BytesIO()
    torch.save(killed.state_dict(), file)
    file.seek(0)
    resumed = search(blobs, 4)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    run(resumed, blobs, 4, 12)
    assert [own.architecture for own in resumed.individuals] == [own.architecture for own in unbroken.individuals]
    for own, other in zip(resumed.individuals, unbroken.individuals, strict=True):
        assert (own.number, own.parent, own.accuracy) == (other.number, other.parent, other.accuracy)
        for name, tensor in other.network.state_dict().items():
            assert torch.equal(own.network.state_dict()[name], tensor), name
    assert resumed.history.state_dict() == unbroken.history.state_dict()
    assert resumed.final_metrics() == unbroken.final_metrics()


def test_the_report_is_of_the_final_population(blobs):
    learner = search(blobs, 4)
    run(learner, blobs, 0, 12)
    found = learner.final_metrics()
    errors = []
    with torch.no_grad():
        for individual in learner.individuals[:3]:
            predicted = individual.predict(blobs.normalise(blobs.test.inputs)).argmax(-1)
            errors.append((predicted != blobs.test.targets).double().mean().item())
    assert found["test/error"] == pytest.approx(sum(errors) / len(errors))
    assert found["population/best_test_error"] == pytest.approx(errors[0])
    assert found["population/kept_start"] == 1.0
    arrays = learner.arrays()
    final = {own.number for own in learner.individuals}
    assert final <= set(arrays["individual"].tolist())
    assert not torch.tensor(arrays["test_error"]).isnan().any()


def test_what_cannot_be_searched_is_refused(blobs):
    plan = TrainingPlan(60, 20, 1)
    with pytest.raises(ConfigError, match="model=equinas"):
        EvolutionarySearch(MLP(blobs.input_shape, 3, [4], "tanh"), plan, blobs)
    with pytest.raises(ConfigError, match="validation_size"):
        EvolutionarySearch(small_network(blobs), plan, dataclasses.replace(blobs, validation=None))
