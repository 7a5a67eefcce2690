import pytest
import torch
from torch import nn

from equinas.convolution import SymmetricConvolution
from equinas.expansion import KernelShape
from equinas.fibres import coset_of
from symlab.groups import C4, D4, GROUPS, act, factor, inverse, multiply
from tests.equinas.cases import equivariance_error


def layer_of(group, lifting: bool, weight_norm: bool = False) -> SymmetricConvolution:
    shape = KernelShape.lifting(group, 2, 16, 3, D4) if lifting else KernelShape.regular(group, 16, 8, 3, D4)
    return SymmetricConvolution(shape, weight_norm)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("extent", [5, 6])
def test_layers_are_equivariant_before_and_after_training(group, extent):
    torch.manual_seed(0)
    images = torch.randn(3, 2, extent, extent)
    layers = nn.Sequential(layer_of(group, True, True), layer_of(group, False))
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.05)
    for _ in range(2):
        assert equivariance_error(layers[0], images, group, lifts=True) < 1e-5
        assert equivariance_error(layers[1], layers[0](images).detach(), group) < 1e-5
        for _ in range(50):
            optimizer.zero_grad()
            (layers(images) - 1).square().mean().backward()
            optimizer.step()


def test_a_layer_of_a_subgroup_is_not_equivariant_to_more():
    torch.manual_seed(0)
    assert equivariance_error(layer_of(C4, False), torch.randn(1, 16, 5, 5), D4) > 0.1


def test_equation_1_summed_over_the_group():
    """sum_h sum_c f_c(h) psi_{d, c}(g^-1 h), the plane included, for a group that is not the whole one."""
    torch.manual_seed(0)
    layer, group = layer_of(C4, False).double(), C4
    features = torch.randn(1, 16, 3, 3, dtype=torch.float64)
    weight, cosets = layer.kernel.weight, coset_of(group, D4)
    padded = nn.functional.pad(features, (1, 1, 1, 1))
    outputs = layer(features)
    for position, g in enumerate(D4.elements):
        part, _ = factor(g, group, D4)
        expected = torch.zeros(3, 3, dtype=torch.float64)
        for place, h in enumerate(D4.elements):
            other, _ = factor(h, group, D4)
            relative = group.position(multiply(inverse(part), other))
            for source in range(2):
                kernel = act(part, weight[cosets[position], source * 2 + cosets[place], relative])
                for i in range(3):
                    for j in range(3):
                        window = padded[0, source * 8 + place, i : i + 3, j : j + 3]
                        expected[i, j] += (window * kernel).sum()
        torch.testing.assert_close(outputs[0, position], expected, rtol=1e-10, atol=1e-10)


def test_weight_norm_keeps_the_scale_of_the_start():
    torch.manual_seed(0)
    layer = layer_of(D4, False, weight_norm=True)
    before = layer.kernel.kernel().norm().item()
    with torch.no_grad():
        layer.kernel.weight.mul_(3).add_(0.1)
    assert layer.kernel.kernel().norm().item() == pytest.approx(before, rel=1e-5)
    assert [name for name, _ in layer.named_parameters()] == ["kernel.weight"]


def test_the_variance_is_that_of_a_layer_before_a_relu():
    torch.manual_seed(0)
    shape = KernelShape.regular(D4, 64, 128, 5)
    outputs = SymmetricConvolution(shape)(torch.randn(8, 64, 12, 12))
    assert 1.2 < outputs[..., 2:-2, 2:-2].square().mean().item() < 2.8
