import pytest
import torch

from ella.layers import Convolution, PointwiseGroupConvolution, SparseConvolution
from ella.pooling import PolyphasePool


@pytest.mark.parametrize("layer", [Convolution, SparseConvolution, PointwiseGroupConvolution])
def test_forward_pools_what_convolve_computes(layer):
    built, features = layer(4, 8, 4, 2), torch.randn(3, 4, 4, 4)
    assert built.convolve(features).shape == (3, 8, 4, 4)
    assert torch.equal(built(features), PolyphasePool()(built.convolve(features)))
