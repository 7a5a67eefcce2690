from functools import partial

import pytest
import torch
from torch import nn

from ella.layers import Convolution, FactoredFullyConnected, FullyConnected, ResidualPathways
from symlab.errors import ConfigError
from symlab.trainer.descent import PosteriorDescent
from symlab.trainer.protocol import Batch, TrainingPlan

FC_CONV = partial(ResidualPathways, paths={"fc": FullyConnected, "conv": Convolution})
THREE = partial(ResidualPathways, paths={"fc": FullyConnected, "f_fc": FactoredFullyConnected, "conv": Convolution})


@pytest.mark.parametrize("layer", [FC_CONV, THREE])
@pytest.mark.parametrize("extent_out", [4, 2])
def test_is_the_mean_of_its_paths(layer, extent_out):
    """ELLA Eq. 4 with one equivariant path: each path computed, and pooled, on its own."""
    built = layer(2, 3, 4, extent_out).double()
    features = torch.randn(5, 2, 4, 4, dtype=torch.float64)
    expected = torch.stack([path(features) for path in built.paths.values()]).mean(0)
    torch.testing.assert_close(built(features), expected, rtol=1e-12, atol=1e-12)


def test_without_an_equivariant_path():
    built = ResidualPathways(2, 3, 4, 2, {"fc": FullyConnected, "f_fc": FactoredFullyConnected})
    features = torch.randn(5, 2, 4, 4)
    expected = (built.paths["fc"](features) + built.paths["f_fc"](features)) / 2
    torch.testing.assert_close(built(features), expected)


def test_several_equivariant_paths_are_pooled_together_so_that_their_sum_is_equivariant():
    torch.manual_seed(0)
    built = ResidualPathways(2, 3, 8, 4, {"small": Convolution, "large": partial(Convolution, kernel_size=5)}).double()
    features = torch.randn(1, 2, 8, 8, dtype=torch.float64)
    outputs = built(features)
    for shift in [(1, 0), (0, 1), (3, 2)]:
        moved = built(features.roll(shift, (2, 3)))
        shifts = [outputs.roll((row, column), (2, 3)) for row in range(4) for column in range(4)]
        assert min((moved - candidate).abs().max().item() for candidate in shifts) < 1e-12


def test_parameters_are_named_by_their_path():
    names = [name for name, _ in FC_CONV(2, 3, 4, 2).named_parameters()]
    paths = ["paths.fc.linear.weight", "paths.fc.linear.bias"]
    assert names == [*paths, "paths.conv.convolution.weight", "paths.conv.convolution.bias"]


@pytest.mark.parametrize("layer", [FC_CONV, THREE])
def test_the_mean_keeps_the_variance_of_one_layer(layer):
    torch.manual_seed(0)
    outputs = layer(16, 64, 8, 8)(torch.randn(64, 16, 8, 8))
    assert 1.5 < outputs.square().mean().item() < 2.7


@pytest.mark.parametrize("layer", [FC_CONV, THREE])
def test_paths_that_are_not_equivariant_may_start_small(layer):
    """The variance of the mean stays that of one layer; the free paths have their share of it."""
    torch.manual_seed(0)
    built, features = layer(16, 64, 8, 8, free_share=0.04), torch.randn(64, 16, 8, 8)
    outputs = {name: path(features) / len(built.paths) for name, path in built.paths.items()}
    free = sum(output.square().mean().item() for name, output in outputs.items() if name != "conv")
    total = built(features).square().mean().item()
    assert 1.5 < total < 2.7
    assert 0.02 < free / total < 0.08


@pytest.mark.parametrize(
    ("paths", "free_share"),
    [({"fc": FullyConnected, "conv": Convolution}, 1.5), ({"fc": FullyConnected, "f_fc": FactoredFullyConnected}, 0.1)],
)
def test_a_share_needs_both_kinds_of_paths(paths, free_share):
    with pytest.raises(ConfigError, match="free_share="):
        ResidualPathways(2, 3, 4, 4, paths, free_share)


def test_paths_that_are_not_equivariant_may_learn_slowly():
    """The first step of Adam moves every weight by its learning rate."""
    network = nn.Sequential(FC_CONV(2, 3, 4, 4, free_rate=0.1), nn.Flatten())
    before = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    descent = PosteriorDescent(network, TrainingPlan(8, 8, epochs=1), dict.fromkeys(before, 1.0), 0.01, 0.01)
    descent.step(Batch(torch.randn(8, 2, 4, 4), torch.randn(8, 48)))
    moved = {name: (before[name] - weight.detach()).abs().mean().item() for name, weight in network.named_parameters()}
    assert moved == pytest.approx({name: 0.001 if ".fc." in name else 0.01 for name in before}, rel=1e-3)
    assert FC_CONV(2, 3, 4, 4).learning_rate_factors() == {}
    with pytest.raises(ConfigError, match="free_rate=0"):
        FC_CONV(2, 3, 4, 4, free_rate=0)


def test_one_path_and_foreign_layers_are_refused():
    with pytest.raises(ConfigError, match=r"paths=\['fc'\]"):
        ResidualPathways(2, 3, 4, 4, {"fc": FullyConnected})
    with pytest.raises(ConfigError, match=r"paths\.b: Identity"):
        ResidualPathways(2, 3, 4, 4, {"a": FullyConnected, "b": nn.Identity})
