import itertools

import pytest
import torch
from torch import nn

from equinas.relaxation import relax
from symlab.errors import ConfigError
from symlab.groups import C1, C2, C4, D1, D2, D4, act
from tests.equinas.cases import PAIRS, difference, invariance_error, network, train

CHAINS = [(D4, C4, C2, C1), (D4, D2, C2, C1), (D4, D2, D1, C1)]


@pytest.mark.parametrize(("group", "subgroup"), PAIRS, ids=str)
@pytest.mark.parametrize("weight_norm", [False, True])
def test_the_function_stays_after_training(group, subgroup, weight_norm):
    torch.manual_seed(0)
    model, images = network(group.name, weight_norm=weight_norm), torch.randn(6, 2, 8, 8)
    train(model, 8)
    expected = model.eval()(images)
    for layer in reversed(range(4)):
        model.relax_layer(layer, subgroup)
        assert difference(model(images), expected) < 1e-5
    assert model.groups == [subgroup] * 4


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "-".join(map(str, chain)))
def test_the_function_stays_along_a_chain_with_training_in_between(chain):
    torch.manual_seed(0)
    model, images = network(chain[0].name, extent=7, weight_norm=True), torch.randn(6, 2, 7, 7)
    for large, small in itertools.pairwise(chain):
        train(model, 7)
        expected = model.eval()(images)
        assert invariance_error(model, images, large) < 1e-5
        model.relax_to([small] * 4)
        assert difference(model(images), expected) < 1e-5
    train(model, 7)
    assert invariance_error(model.eval(), images, D4) > 1e-3


def test_a_convolution_alone_keeps_the_function_in_training_too():
    torch.manual_seed(0)
    model, images = network("D4"), torch.randn(6, 2, 8, 8)
    train(model, 8)
    model.train()
    expected = model(images)
    for layer in range(4):
        relax(model, f"blocks.{layer}.convolution", C1)
    assert difference(model(images), expected) < 1e-5


@pytest.mark.parametrize("option", ["carry", "reset"])
@pytest.mark.parametrize("kind", ["momentum", "adam"])
def test_new_parameters_are_trained_at_once(option, kind):
    torch.manual_seed(0)
    model = network("D4")
    make = {"momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, lr=0.01)}
    optimizer = make[kind](model.parameters())
    train(model, 8, 5, optimizer)
    model.relax_layer(3, C2, optimizer, option)
    assert {id(p) for group in optimizer.param_groups for p in group["params"]} == {id(p) for p in model.parameters()}
    kernel = model.blocks[3].convolution.kernel.weight
    assert bool(optimizer.state[kernel]) == (option == "carry")
    assert optimizer.state[model.blocks[0].convolution.kernel.weight]
    before = kernel.detach().clone()
    train(model, 8, 1, optimizer)
    assert not torch.equal(before, kernel)


def test_carried_momentum_is_the_gradient_of_the_copies():
    """A momentum is a sum of gradients; the gradient of an entry is the sum of those of its copies. For data that show every
    image in all poses the copies' gradients are equal up to the pose, so that carrying and measuring agree."""
    torch.manual_seed(0)
    images = torch.randn(2, 2, 5, 5, dtype=torch.float64)
    poses = torch.cat([act(element, images) for element in D4.elements])
    targets = torch.arange(2).repeat(8)

    def gradients(model: nn.Module) -> None:
        model.zero_grad()
        nn.functional.cross_entropy(model(poses), targets).backward()

    model = network("D4", extent=5).double().eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)
    gradients(model)
    optimizer.step()
    for layer in reversed(range(4)):
        model.relax_layer(layer, C4, optimizer, "carry")
    gradients(model)
    for name, parameter in model.named_parameters():
        carried = optimizer.state[parameter]["momentum_buffer"]
        torch.testing.assert_close(carried, parameter.grad, rtol=1e-8, atol=1e-12, msg=name)


def test_what_cannot_be_relaxed_is_refused():
    model = network("C4")
    with pytest.raises(ConfigError, match="no subgroup"):
        relax(model, "blocks.0", D2)
    with pytest.raises(ConfigError, match="no layer"):
        relax(model, "head.output", C1)
