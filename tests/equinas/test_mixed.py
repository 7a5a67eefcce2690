import pytest
import torch
from torch import nn

from equinas.expansion import KernelShape
from equinas.mixed import MixedConvolution, PathwayConvolution
from symlab.errors import ConfigError
from symlab.groups import C1, C4, D4, GROUPS
from tests.equinas.cases import equivariance_error

SHAPES = {"lifting": KernelShape.lifting(D4, 2, 16, 3), "regular": KernelShape.regular(D4, 8, 16, 3)}


@pytest.mark.parametrize("kind", SHAPES)
def test_equation_10_equals_equation_11(kind):
    """The sum of six convolutions is the convolution with the sum of six kernels, in value and gradient."""
    torch.manual_seed(0)
    layer = MixedConvolution(SHAPES[kind], GROUPS).double()
    nn.init.normal_(layer.logits)
    features = torch.randn(2, layer.kernel().shape[1], 5, 5, dtype=torch.float64)
    weights = layer.logits.softmax(0)
    apart = sum(z * nn.functional.conv2d(features, kernel(), padding=1) for z, kernel in zip(weights, layer.kernels))
    together = layer(features)
    torch.testing.assert_close(together, apart, rtol=1e-10, atol=1e-10)
    found = torch.autograd.grad(together.square().sum(), list(layer.parameters()))
    expected = torch.autograd.grad(apart.square().sum(), list(layer.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


def test_weights_start_uniform_and_sum_to_one():
    layer = MixedConvolution(SHAPES["regular"], GROUPS)
    torch.testing.assert_close(layer.weights(), torch.full((6,), 1 / 6))
    assert layer.groups == list(GROUPS)


def test_kernels_of_all_groups_are_equally_large_at_first():
    torch.manual_seed(0)
    layer = MixedConvolution(KernelShape.regular(D4, 64, 64, 5), GROUPS)
    sizes = torch.stack([kernel().norm() for kernel in layer.kernels])
    assert (sizes / sizes.mean() - 1).abs().max() < 0.05


def test_one_group_alone_makes_it_equivariant_to_that_group():
    torch.manual_seed(0)
    layer, features = MixedConvolution(SHAPES["regular"], (C1, C4)), torch.randn(1, 8, 5, 5)
    assert equivariance_error(layer, features, C4) > 0.05
    with torch.no_grad():
        layer.logits.copy_(torch.tensor([-100.0, 100.0]))
    assert equivariance_error(layer, features, C4) < 1e-5


def test_pathways_add_a_free_kernel_to_an_equivariant_one():
    torch.manual_seed(0)
    layer, features = PathwayConvolution(SHAPES["regular"]), torch.randn(1, 8, 5, 5)
    expected = sum(nn.functional.conv2d(features, kernel(), padding=1) for kernel in layer.kernels)
    torch.testing.assert_close(layer(features), expected, rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        layer.residual_weights().zero_()
    assert equivariance_error(layer, features, D4) < 1e-5


def test_no_groups_are_refused():
    with pytest.raises(ConfigError, match="at least one"):
        MixedConvolution(SHAPES["regular"], ())
