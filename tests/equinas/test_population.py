import numpy as np
import torch

from equinas.population import NOBODY, History, Individual, group_orders, orders_of
from symlab.groups import C4, D4
from symlab.trainer.protocol import Batch
from tests.equinas.cases import difference, network


def trained_individual() -> tuple[Individual, Batch]:
    torch.manual_seed(0)
    batch = Batch(torch.randn(12, 2, 8, 8), torch.arange(12) % 3)

    def make(parameters, lr):
        return torch.optim.SGD(parameters, lr=lr, momentum=0.9)

    individual = Individual(0, NOBODY, network("D4"), make, 0.1)
    for _ in range(5):
        individual.train(batch)
    return individual, batch


def test_a_child_computes_what_its_parent_does_and_learns_on_its_own():
    parent, batch = trained_individual()
    child = parent.child(1, (3, C4), "carry")
    assert child.parent == parent.number
    assert child.network.groups == [D4, D4, D4, C4]
    assert child.parameters > parent.parameters
    with torch.no_grad():
        expected = parent.predict(batch.inputs)
        assert difference(child.predict(batch.inputs), expected) < 1e-5
    momentum = parent.optimizer.state[parent.network.blocks[0].convolution.kernel.weight]["momentum_buffer"]
    before = momentum.clone()
    child.train(batch)
    assert torch.equal(momentum, before)
    with torch.no_grad():
        assert torch.equal(parent.predict(batch.inputs), expected)
        assert difference(child.predict(batch.inputs), expected) > 1e-3
    first = child.network.blocks[0].convolution.kernel.weight
    assert "momentum_buffer" in child.optimizer.state[first]


def test_a_restored_individual_goes_on_as_the_stored_one():
    parent, batch = trained_individual()
    child = parent.child(1, (3, C4), "carry")
    template = network("D4")
    again = Individual.restored(child.state_dict(), template, child.make, 0.1)
    for individual in (child, again):
        individual.train(batch)
    with torch.no_grad():
        assert torch.equal(child.predict(batch.inputs), again.predict(batch.inputs))
    assert template.groups == [D4] * 4


def test_the_history_as_arrays():
    parent, _ = trained_individual()
    child, history = parent.child(4, (3, C4), "reset"), History()
    history.add(1, [parent])
    history.add(2, [child, parent])
    history.test_errors[4] = 0.25
    copy = History()
    copy.load_state_dict(history.state_dict())
    assert copy.share_of_generations_with("D4 D4 D4 C4") == 0.5
    assert copy.share_of_generations_with("D4 D4 D4 D4") == 1.0
    arrays = copy.arrays()
    assert arrays["selected"].tolist() == [[1, 0], [2, 4], [2, 0]]
    assert arrays["individual"].tolist() == [0, 4]
    assert arrays["parent"].tolist() == [NOBODY, 0]
    assert arrays["architecture"].tolist() == ["D4 D4 D4 D4", "D4 D4 D4 C4"]
    assert np.isnan(arrays["test_error"][0])
    assert arrays["test_error"][1] == 0.25


def test_orders_of_both_halves():
    model = network("D4")
    model.relax_layer(3, C4)
    assert group_orders(orders_of(model)) == {"group_order/early_layers": 8.0, "group_order/late_layers": 6.0}
