import torch
from torch import nn

from symlab.kfac import Classification, RuleOptions, estimate
from symlab.kfac.sizes import factor_sizes


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 16, 5), nn.ReLU(), nn.Linear(5, 3)
    )


def test_sizes_are_those_of_a_fit():
    with torch.device("meta"):
        model = network()
    sizes = factor_sizes(model, (2, 4, 4))
    inputs, targets = torch.randn(4, 2, 4, 4), torch.arange(4) % 3
    blocks = estimate(network(), Classification(), [(inputs, targets)]).blocks
    factors = {id(factor): factor for block in blocks.values() for factor in (block.inputs, block.outputs)}
    assert sorted(size.entries for size in sizes) == sorted(factor.numel() for factor in factors.values())
    assert {size.name for size in sizes} == set(blocks)


def test_options_and_exclusions_are_those_of_a_fit():
    with torch.device("meta"):
        model = network()
    joint = factor_sizes(model, (2, 4, 4), RuleOptions(bias="joint"))
    assert (joint[2].size, joint[2].count) == (6 * 16 + 1, 1)
    assert {size.name for size in factor_sizes(model, (2, 4, 4), exclude=["0"])} == {
        "3.weight",
        "3.bias",
        "5.weight",
        "5.bias",
    }
