import pytest
import torch
from torch.nn.functional import silu

from emlp_rpp.errors import InputSizeError
from emlp_rpp.networks import MLP
from symlab.errors import ConfigError


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_linear_layers_with_swish_between_them(layers: int):
    network = MLP(4, 2, channels=7, layers=layers).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    weights = [module for module in network.net if isinstance(module, torch.nn.Linear)]
    assert [weight.out_features for weight in weights] == [7] * layers + [2]
    h = x
    for weight in weights[:-1]:
        h = silu(h @ weight.weight.mT + weight.bias)
    torch.testing.assert_close(network(x), h @ weights[-1].weight.mT + weights[-1].bias)


def test_what_does_not_fit_is_explained():
    with pytest.raises(ConfigError, match="does not fit: sizes from 1 on"):
        MLP(4, 0)
    with pytest.raises(InputSizeError, match=r"\(\.\.\., 4\) is needed"):
        MLP(4, 2)(torch.zeros(3, 5))
