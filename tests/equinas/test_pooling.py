import pytest
import torch

from equinas.fibres import act_on_features
from equinas.pooling import PooledLinear, SymmetricAveragePool
from symlab.errors import ConfigError
from symlab.groups import C4, D4, GROUPS
from tests.equinas.cases import difference, equivariance_error


@pytest.mark.parametrize("extent", [1, 2, 5, 6, 7, 8])
def test_pooling_commutes_on_even_and_odd_sizes(extent):
    features = torch.randn(2, 8, extent, extent)
    pool = SymmetricAveragePool()
    assert pool(features).shape[-1] == (extent + 1) // 2
    assert equivariance_error(pool, features, D4) < 1e-6


def test_the_usual_pooling_does_not():
    features = torch.randn(2, 8, 6, 6)
    assert equivariance_error(torch.nn.AvgPool2d(3, stride=2, padding=1), features, D4) > 0.1


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_the_average_over_space_and_group_is_invariant(group):
    torch.manual_seed(0)
    layer, features = PooledLinear(group, 16, 3, D4), torch.randn(2, 16, 4, 4)
    for element in group.elements:
        assert difference(layer(act_on_features(element, features, D4)), layer(features)) < 1e-6
    torch.testing.assert_close(
        features.mean((2, 3)) @ layer.expanded_weight().T + layer.linear.bias, layer(features), rtol=1e-5, atol=1e-6
    )


def test_it_averages_what_it_says():
    layer = PooledLinear(C4, 8, 1, D4)
    with torch.no_grad():
        layer.linear.weight.copy_(torch.tensor([[1.0, 0.0]]))
        layer.linear.bias.zero_()
    features = torch.zeros(1, 8, 2, 2)
    features[0, :4] = torch.tensor([1.0, 2.0, 3.0, 6.0]).view(4, 1, 1)
    features[0, 4:] = 100.0  # the other coset, which this weight leaves out
    assert layer(features).item() == pytest.approx(3.0)


def test_rectangles_are_refused():
    with pytest.raises(ConfigError, match="square"):
        SymmetricAveragePool()(torch.zeros(1, 1, 4, 6))
