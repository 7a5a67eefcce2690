import pytest
import torch
from torch import nn
from torch.nn import functional

from symlab.kfac import Classification, estimate
from symlab.models import FixupResNet
from symlab.models.resnet import FixupBlock
from symlab.trainer.descent import weights_of


@pytest.mark.parametrize(("width", "count"), [(8, 18_995), (16, 74_827)])
def test_parameters_are_those_of_lila(width: int, count: int):
    model = FixupResNet((3, 32, 32), 10, width)
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert model(torch.randn(2, 3, 32, 32)).shape == (2, 10)


def test_it_starts_undecided_and_without_residual_branches():
    model = FixupResNet((1, 8, 8), 3, width=4)
    assert model(torch.randn(2, 1, 8, 8)).abs().max() == 0
    features = torch.rand(2, 4, 8, 8)
    assert torch.equal(model.blocks[0](features), features)


def test_the_shortcut_takes_every_second_pixel_and_adds_channels_of_zeros():
    block = FixupBlock(2, 4, stride=2, blocks=1)
    features = torch.rand(1, 2, 4, 4)
    expected = torch.cat([functional.avg_pool2d(features, 1, 2), torch.zeros(1, 2, 2, 2)], 1)
    assert torch.equal(block(features), expected)


def test_every_parameter_has_curvature_and_nothing_is_normalised():
    torch.manual_seed(0)
    model = FixupResNet((1, 8, 8), 3, width=2, blocks=2)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    inputs, targets = torch.randn(4, 1, 8, 8), torch.arange(4) % 3
    names = [
        name for block in estimate(model, Classification(), [(inputs, targets)]).blocks.values() for name in block.names
    ]
    assert sorted(names) == sorted(weights_of(model))
    assert not any(isinstance(module, nn.BatchNorm2d | nn.GroupNorm) for module in model.modules())
