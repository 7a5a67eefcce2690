"""What every weight space has to satisfy, against the dense map from its parameters to its weights."""

import pytest
import torch
from torch import nn

from emlp_rpp.pathways.weight_space import WeightSpace, nearest_parameters, project
from symlab.errors import ConfigError
from tests.emlp_rpp.pathways.oracles import SPACES, flat, orthonormal_basis, parameter_map

every_space = pytest.mark.parametrize("name", SPACES)


def built(name: str) -> nn.Module:
    torch.manual_seed(1)
    return SPACES[name]().double()


@every_space
def test_the_layer_is_its_dense_form(name: str):
    layer = built(name)
    assert isinstance(layer, WeightSpace)
    weight, bias = layer.dense()
    shape = getattr(layer, "shape_in", (weight.shape[1],))
    x = torch.randn(3, *shape, dtype=torch.float64)
    torch.testing.assert_close(layer(x).flatten(1), x.flatten(1) @ weight.mT + bias, atol=1e-10, rtol=1e-10)


@every_space
def test_multiplicities_are_the_squared_lengths_of_orthogonal_columns(name: str):
    layer = built(name)
    columns = parameter_map(layer)
    known = layer.multiplicities()
    expected = [known[each].double().expand_as(parameter).reshape(-1) for each, parameter in layer.named_parameters()]
    torch.testing.assert_close(columns.mT @ columns, torch.diag(torch.cat(expected)), atol=1e-10, rtol=1e-10)


@every_space
def test_projection_is_q_q_transposed(name: str):
    layer = built(name)
    basis = orthonormal_basis(layer)
    own_weight, own_bias = layer.dense()
    weight, bias = torch.randn_like(own_weight), torch.randn_like(own_bias)
    found = flat(*project(layer, weight, bias))
    torch.testing.assert_close(found, basis @ (basis.mT @ flat(weight, bias)), atol=1e-8, rtol=1e-8)
    torch.testing.assert_close(flat(*project(layer, own_weight, own_bias)), flat(own_weight, own_bias), atol=1e-8, rtol=1e-8)


def test_weights_of_another_shape_are_refused():
    with pytest.raises(ConfigError, match=r"weights \(2, 2\) and biases \(2,\) do not fit: the layer's are \(4, 6\)"):
        nearest_parameters(built("dense"), torch.zeros(2, 2), torch.zeros(2))
