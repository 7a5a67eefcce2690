import pytest
import torch

from equinas.network import EquivariantNetwork, MixedNetwork, PathwayNetwork
from symlab.errors import ConfigError
from symlab.groups import C1, C4, D4, GROUPS
from tests.equinas.cases import difference, equivariance_error, invariance_error, network, train


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("extent", [7, 8])
def test_blocks_and_network_are_equivariant_before_and_after_training(group, extent):
    torch.manual_seed(0)
    model, images = network(group.name, extent), torch.randn(5, 2, extent, extent)
    for steps in (0, 50):
        train(model, extent, steps)
        for training in (True, False):
            model.train(training)
            assert invariance_error(model, images, group) < 1e-5
            with torch.no_grad():
                features = images
                for index, block in enumerate(model.blocks):
                    assert equivariance_error(block, features, group, lifts=index == 0) < 1e-5
                    features = block(features)


def test_a_network_of_a_subgroup_is_not_invariant_to_more():
    torch.manual_seed(0)
    model, images = network("C4"), torch.randn(5, 2, 8, 8)
    train(model, 8)
    assert invariance_error(model.eval(), images, D4) > 1e-3


@pytest.mark.parametrize(("group", "kernels"), [("D4", 870_800), ("C4", 1_741_600), ("C1", 6_966_400)])
def test_kernels_have_the_parameters_of_the_released_networks(group, kernels):
    """Released: 891098, 1761898 and 6986698, 20298 of them of batch normalisations and linear layers."""
    with torch.device("meta"):
        model = EquivariantNetwork((1, 28, 28), 10, group=group)
    assert sum(layer.kernel.weight.numel() for layer in model.convolutions()) == kernels


def test_sums_of_kernels_have_the_parameters_of_their_groups():
    with torch.device("meta"):
        mixed, pathways = MixedNetwork((1, 28, 28), 10), PathwayNetwork((1, 28, 28), 10)
    count = {
        model: sum(kernel.weight.numel() for layer in model.convolutions() for kernel in layer.kernels)
        for model in (mixed, pathways)
    }
    assert count[mixed] == 18_307_098 - 20_298  # the released network
    assert count[pathways] == 870_800 + 6_966_400


def test_sizes_of_a_relaxed_network_are_known_without_memory():
    """What a plan asks for: everything on the meta device, the first time that these shapes are met."""
    with torch.device("meta"):
        model = EquivariantNetwork((1, 28, 28), 10, group="C4", prior="D4", channels=40)
        assert model(torch.empty(4, 1, 28, 28)).shape == (4, 10)
    assert model(torch.empty(4, 1, 28, 28, device="meta")).is_meta


def test_a_prior_starts_with_the_larger_group_and_trains_without():
    torch.manual_seed(0)
    model, images = network("C1", prior="D4"), torch.randn(5, 2, 8, 8)
    assert model.groups == [C1] * 4
    assert invariance_error(model.eval(), images, D4) < 1e-5
    train(model, 8)
    assert invariance_error(model.eval(), images, D4) > 1e-3


def test_a_mixed_network_that_weighs_one_group_is_invariant_to_it():
    torch.manual_seed(0)
    model = MixedNetwork((2, 8, 8), 3, layers=3, channels=8, kernel_size=3, hidden=8, pooled_after=(2,))
    images = torch.randn(5, 2, 8, 8)
    assert invariance_error(model.eval(), images, D4) > 1e-4
    with torch.no_grad():
        for logits in model.architecture_parameters():
            logits[model.groups.index(D4)] = 100.0
    train(model, 8, 10, torch.optim.SGD([p for n, p in model.named_parameters() if "logits" not in n], lr=0.1))
    assert invariance_error(model.eval(), images, D4) < 1e-5
    assert model.architecture()[:, model.groups.index(D4)].min() > 0.99


def test_pathways_without_residue_are_invariant():
    torch.manual_seed(0)
    model = PathwayNetwork((2, 8, 8), 3, layers=3, channels=8, kernel_size=3, hidden=8, pooled_after=(2,))
    assert len(model.residual_weights()) == 3
    with torch.no_grad():
        for weight in model.residual_weights():
            weight.zero_()
    images = torch.randn(5, 2, 8, 8)
    assert invariance_error(model.eval(), images, C4) < 1e-5


def test_a_changed_layer_does_not_touch_the_others():
    torch.manual_seed(0)
    model, images = network("D4"), torch.randn(5, 2, 8, 8)
    expected = model.eval()(images)
    model.relax_layer(3, C4)
    assert model.groups == [D4, D4, D4, C4]
    assert difference(model(images), expected) < 1e-6


def test_rectangles_are_refused():
    with pytest.raises(ConfigError, match="square"):
        EquivariantNetwork((1, 8, 9), 3)
