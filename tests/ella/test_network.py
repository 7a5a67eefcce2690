from functools import partial

import pytest
import torch

from ella.layers import (
    Convolution,
    DepthwiseSeparableGroupConvolution,
    FactoredFullyConnected,
    FullyConnected,
    GroupConvolution,
    PointwiseGroupConvolution,
    ResidualPathways,
    SeparableGroupConvolution,
    SparseConvolution,
    SparseFullyConnected,
)
from ella.network import Network, RotationNetwork
from symlab.errors import ConfigError


def count(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


FC_CONV = partial(ResidualPathways, paths={"fc": FullyConnected, "conv": Convolution})
F_FC_CONV = partial(ResidualPathways, paths={"f_fc": FactoredFullyConnected, "conv": Convolution})

S_FC_S_CONV = partial(ResidualPathways, paths={"s_fc": SparseFullyConnected, "s_conv": SparseConvolution})
F_FC_CONV_GCONV = partial(
    ResidualPathways,
    paths={"f_fc": FactoredFullyConnected, "conv": Convolution, "gconv": PointwiseGroupConvolution},
)


@pytest.mark.parametrize(
    ("layer", "parameters", "tensors", "printed"),
    [
        (FullyConnected, 133_635_690, 20, 133.6),
        (Convolution, 338_770, 20, 0.3),
        (FC_CONV, 133_865_010, 36, 133.9),
        (FactoredFullyConnected, 1_542_625, 36, 1.5),
        (F_FC_CONV, 1_771_945, 52, 1.8),
        (SparseFullyConnected, 833_505, 36, 0.8),
        (SparseConvolution, 237_050, 20, 0.2),
        (S_FC_S_CONV, 961_105, 52, 1.0),
    ],
)
def test_parameter_counts_of_table_2(layer, parameters, tensors, printed):
    """Weights: parameters with a prior, one precision for each tensor. Anchor locations do not change the printed digits."""
    with torch.device("meta"):
        network = Network((3, 32, 32), 10, layer)
    weights = {name: tensor for name, tensor in network.named_parameters() if not name.endswith("locations")}
    assert sum(tensor.numel() for tensor in weights.values()) == parameters
    assert len(weights) == tensors
    assert round(parameters / 1e6, 1) == round(count(network) / 1e6, 1) == printed


def test_seven_anchors_of_nine_give_the_count_of_the_released_code():
    """287910 weights: 7 anchors for 3 x 3 filters, where half the parameters (App. F.4, and 0.2 M in Table 2) are 5."""
    with torch.device("meta"):
        network = Network((3, 32, 32), 10, partial(SparseConvolution, anchor_fraction=0.75))
    assert sum(tensor.numel() for name, tensor in network.named_parameters() if not name.endswith("locations")) == 287_910


@pytest.mark.parametrize("layer", [FC_CONV, F_FC_CONV, SparseFullyConnected, SparseConvolution, S_FC_S_CONV])
def test_the_signal_neither_grows_nor_fades_through_the_blocks(layer):
    """The variance over images after each linear map, of smooth images: sparsified filters are smooth too."""
    torch.manual_seed(0)
    images = torch.nn.functional.interpolate(torch.randn(32, 3, 4, 4), scale_factor=4, mode="bilinear")
    features, variances = images / images.std(), []
    for block in Network((3, 16, 16), 10, layer, alpha=6).blocks:
        features = block(features)
        if not isinstance(block, torch.nn.ReLU):
            variances.append(features.var(0).mean().item())
    assert max(variances) < 6 * min(variances)


def test_frequencies_are_tensors_of_their_own():
    with torch.device("meta"):
        network = Network((3, 32, 32), 10, partial(SparseFullyConnected, prior="omega"))
    frequencies = [tensor for name, tensor in network.named_parameters() if name.endswith("frequency")]
    assert [tuple(tensor.shape) for tensor in frequencies] == [(2,)] * 16


def test_parameter_counts_of_table_3():
    with torch.device("meta"):
        network = RotationNetwork((3, 32, 32), 10, F_FC_CONV_GCONV, alpha=2)
    assert count(network) == 1_237_527
    assert len(list(network.parameters())) == 68


@pytest.mark.parametrize(
    ("layer", "alpha", "parameters"),
    [
        (GroupConvolution, 10, 1_025_380),
        (GroupConvolution, 6, 371_200),
        (SeparableGroupConvolution, 10, 214_550),
        (SeparableGroupConvolution, 13, 358_463),
        (DepthwiseSeparableGroupConvolution, 10, 139_725),  # printed: 139735
        (DepthwiseSeparableGroupConvolution, 16, 346_215),
        (PointwiseGroupConvolution, 10, 338_770),
    ],
)
def test_parameter_counts_of_table_7(layer, alpha, parameters):
    with torch.device("meta"):
        assert count(RotationNetwork((3, 32, 32), 10, layer, alpha)) == parameters


def test_parameter_counts_of_table_1():
    """112.7 M, 0.4 M and 1.8 M as printed, for the 40-class task."""
    with torch.device("meta"):
        assert round(count(Network((1, 32, 32), 40, FullyConnected)) / 1e6, 1) == 112.7
        assert round(count(Network((1, 32, 32), 40, Convolution)) / 1e6, 1) == 0.4
        assert round(count(Network((1, 32, 32), 40, F_FC_CONV)) / 1e6, 1) == 1.8


def test_signals_keep_their_size_at_initialisation():
    torch.manual_seed(0)
    sparse = (SparseFullyConnected, SparseConvolution, S_FC_S_CONV)
    networks = [
        Network((3, 16, 16), 10, layer, alpha=8)
        for layer in (FullyConnected, Convolution, FC_CONV, FactoredFullyConnected, F_FC_CONV, *sparse)
    ]
    networks += [
        RotationNetwork((3, 16, 16), 10, layer, alpha=2)
        for layer in (F_FC_CONV_GCONV, GroupConvolution, PointwiseGroupConvolution)
    ]
    for network in networks:
        outputs = network(torch.randn(64, 3, 16, 16))
        assert 0.2 < outputs.std().item() < 5


@pytest.mark.parametrize("shape", [(3, 28, 28), (3, 64, 64), (3, 16, 8), (7,)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ConfigError, match=r"data\.resolution"):
        Network(shape, 10, Convolution)
