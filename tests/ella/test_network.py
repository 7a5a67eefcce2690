from functools import partial

import pytest
import torch

from ella.layers import Convolution, FactoredFullyConnected, FullyConnected, ResidualPathways
from ella.network import Network
from symlab.errors import ConfigError


def count(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


FC_CONV = partial(ResidualPathways, paths={"fc": FullyConnected, "conv": Convolution})
F_FC_CONV = partial(ResidualPathways, paths={"f_fc": FactoredFullyConnected, "conv": Convolution})


@pytest.mark.parametrize(
    ("layer", "parameters", "tensors", "printed"),
    [
        (FullyConnected, 133_635_690, 20, 133.6),
        (Convolution, 338_770, 20, 0.3),
        (FC_CONV, 133_865_010, 36, 133.9),
        (FactoredFullyConnected, 1_542_625, 36, 1.5),
        (F_FC_CONV, 1_771_945, 52, 1.8),
    ],
)
def test_parameter_counts_of_table_2(layer, parameters, tensors, printed):
    with torch.device("meta"):
        network = Network((3, 32, 32), 10, layer)
    assert count(network) == parameters
    assert len(list(network.parameters())) == tensors
    assert round(parameters / 1e6, 1) == printed


def test_parameter_counts_of_table_1():
    """112.7 M, 0.4 M and 1.8 M as printed, for the 40-class task."""
    with torch.device("meta"):
        assert round(count(Network((1, 32, 32), 40, FullyConnected)) / 1e6, 1) == 112.7
        assert round(count(Network((1, 32, 32), 40, Convolution)) / 1e6, 1) == 0.4
        assert round(count(Network((1, 32, 32), 40, F_FC_CONV)) / 1e6, 1) == 1.8


@pytest.mark.parametrize("resolution", [8, 16, 32])
def test_the_convolutional_network_is_invariant_to_every_translation(resolution):
    torch.manual_seed(0)
    network = Network((2, resolution, resolution), 5, Convolution, alpha=2)
    image = torch.randn(1, 2, resolution, resolution)
    moved = torch.cat([image.roll((row, column), (2, 3)) for row in range(resolution) for column in range(resolution)])
    with torch.no_grad():
        assert (network(moved) - network(image)).abs().max() < 1e-5


def test_the_fully_connected_network_is_not():
    torch.manual_seed(0)
    network = Network((1, 8, 8), 5, FullyConnected, alpha=2)
    image = torch.randn(1, 1, 8, 8)
    with torch.no_grad():
        assert (network(image.roll(1, 2)) - network(image)).abs().max() > 1e-2


def test_signals_keep_their_size_at_initialisation():
    torch.manual_seed(0)
    for layer in (FullyConnected, Convolution, FC_CONV, FactoredFullyConnected, F_FC_CONV):
        outputs = Network((3, 16, 16), 10, layer, alpha=8)(torch.randn(64, 3, 16, 16))
        assert 0.2 < outputs.std().item() < 5


@pytest.mark.parametrize("shape", [(3, 28, 28), (3, 64, 64), (3, 16, 8), (7,)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ConfigError, match=r"data\.resolution"):
        Network(shape, 10, Convolution)
