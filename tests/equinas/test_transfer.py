import pytest
import torch

from equinas.convolution import SymmetricKernel
from equinas.expansion import KernelShape
from equinas.normalisation import GroupBatchNorm
from equinas.pooling import PooledLinear
from equinas.transfer import Relaxable, relaxed
from symlab.groups import D4
from tests.equinas.cases import PAIRS, difference


@pytest.mark.parametrize(("group", "subgroup"), PAIRS, ids=str)
def test_every_kind_of_layer_keeps_its_function(group, subgroup):
    torch.manual_seed(0)
    features = torch.randn(3, 16, 5, 5)
    kernel = SymmetricKernel(KernelShape.regular(group, 16, 16, 3, D4), weight_norm=True)
    normalisation, pooled = GroupBatchNorm(group, 16, D4), PooledLinear(group, 16, 3, D4)
    for layer in (kernel, normalisation, pooled):
        assert isinstance(layer, Relaxable)
        for parameter in layer.parameters():
            torch.nn.init.normal_(parameter)
    normalisation(features * torch.arange(1, 17).view(16, 1, 1))
    normalisation.eval()
    assert difference(relaxed(kernel, subgroup)(), kernel()) < 1e-6
    for layer in (normalisation, pooled):
        assert difference(relaxed(layer, subgroup)(features), layer(features)) < 1e-6
        assert relaxed(layer, subgroup).group == subgroup


def test_type_and_mode_are_kept():
    layer = GroupBatchNorm(D4, 8).double().eval()
    found = relaxed(layer, D4)
    assert found.normalisation.weight.dtype == torch.float64
    assert not found.training
