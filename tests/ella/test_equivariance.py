"""Strict equivariance of whole networks, pooling included, and its limit in relaxed ones (ELLA Eq. 8)."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

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

TRANSLATION = {
    "CONV": partial(Network, layer=Convolution),
    "S-CONV": partial(Network, layer=SparseConvolution),
    "S-CONV on theta": partial(Network, layer=partial(SparseConvolution, prior="theta")),
}
ROTATION = {
    "full": partial(RotationNetwork, layer=GroupConvolution),
    "separable": partial(RotationNetwork, layer=SeparableGroupConvolution),
    "depthwise separable": partial(RotationNetwork, layer=DepthwiseSeparableGroupConvolution),
    "pointwise": partial(RotationNetwork, layer=PointwiseGroupConvolution),
}
STRICT = {**TRANSLATION, **ROTATION}


def with_biases(network: nn.Module) -> nn.Module:
    """Biases start at zero, where some asymmetries would not show."""
    for name, parameter in network.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, std=0.1)
    return network


def translated(image: Tensor) -> Tensor:
    """Every translation by pixels: (x y, c, x, y)."""
    height, width = image.shape[2:]
    return torch.cat([image.roll((row, column), (2, 3)) for row in range(height) for column in range(width)])


def rotated(images: Tensor) -> Tensor:
    return torch.cat([images.rot90(turn, (2, 3)) for turn in range(4)])


def error(network: nn.Module, image: Tensor, moved: Tensor) -> float:
    with torch.no_grad():
        return (network(moved) - network(image)).abs().max().item()


@pytest.mark.parametrize("resolution", [8, 16, 32])
@pytest.mark.parametrize("name", STRICT)
def test_strict_networks_are_invariant_to_every_translation(name, resolution):
    torch.manual_seed(0)
    network = with_biases(STRICT[name]((2, resolution, resolution), 5, alpha=1 if resolution == 32 else 2))
    image = torch.randn(1, 2, resolution, resolution)
    assert error(network, image, translated(image)) < 1e-5


@pytest.mark.parametrize("name", ROTATION)
def test_group_convolutional_networks_are_invariant_to_rotations_and_translations(name):
    torch.manual_seed(0)
    network = with_biases(ROTATION[name]((2, 8, 8), 5, alpha=2))
    image = torch.randn(1, 2, 8, 8)
    assert error(network, image, rotated(translated(image))) < 1e-5


def test_convolutional_networks_are_not_invariant_to_rotations():
    torch.manual_seed(0)
    image = torch.randn(1, 2, 8, 8)
    assert error(TRANSLATION["CONV"]((2, 8, 8), 5, alpha=2), image, rotated(image)) > 1e-2


@pytest.mark.parametrize("name", STRICT)
def test_a_prediction_does_not_depend_on_its_batch(name):
    torch.manual_seed(0)
    network, images = with_biases(STRICT[name]((2, 8, 8), 5, alpha=2)), torch.randn(7, 2, 8, 8)
    with torch.no_grad():
        together, alone = network(images), torch.cat([network(image[None]) for image in images])
    assert (together - alone).abs().max() < 1e-5


F_FC_CONV_GCONV = {"f_fc": FactoredFullyConnected, "conv": Convolution, "gconv": PointwiseGroupConvolution}


@pytest.mark.parametrize(
    ("build", "paths", "relaxed", "group"),
    [
        (Network, {"fc": FullyConnected, "conv": Convolution}, ["fc"], translated),
        (Network, {"f_fc": FactoredFullyConnected, "conv": Convolution}, ["f_fc"], translated),
        (Network, {"s_fc": SparseFullyConnected, "s_conv": SparseConvolution}, ["s_fc"], translated),
        (RotationNetwork, F_FC_CONV_GCONV, ["f_fc"], translated),
        (RotationNetwork, F_FC_CONV_GCONV, ["f_fc", "conv"], rotated),
    ],
)
def test_relaxed_networks_become_strict_as_the_prior_variance_of_their_other_paths_goes_to_zero(
    build, paths, relaxed, group
):
    """Weights drawn from N(0, sigma^2) are sigma times unit draws. Biases of non-equivariant paths are among them."""
    torch.manual_seed(0)
    network = with_biases(build((2, 8, 8), 5, partial(ResidualPathways, paths=paths), alpha=2)).double()
    image = torch.randn(1, 2, 8, 8, dtype=torch.float64)
    scaled = {
        name: parameter.detach().clone()
        for name, parameter in network.named_parameters()
        if any(f".paths.{path}." in name for path in relaxed) and not name.endswith("locations")
    }
    assert scaled
    errors = []
    for deviation in (1.0, 1e-2, 1e-4, 1e-6, 0.0):
        with torch.no_grad():
            for name, value in scaled.items():
                network.get_parameter(name).copy_(deviation * value)
        errors.append(error(network, image, group(image)))
    assert errors[0] > 1e-2
    assert errors[0] > errors[1] > errors[2] > errors[3] > errors[4]
    assert errors[3] < 1e-5
    assert errors[4] < 1e-12
