import pytest
import torch
from torch import nn

from symlab.errors import ConfigError
from symlab.kfac import Classification, estimate
from symlab.models import FixupWideResNet
from symlab.trainer.descent import weights_of


def test_parameters_are_those_of_lila():
    with torch.device("meta"):
        model = FixupWideResNet((3, 32, 32), 10, depth=16, widening=4)
    assert sum(parameter.numel() for parameter in model.parameters()) == 2_745_306


def test_it_starts_undecided():
    model = FixupWideResNet((3, 8, 8), 5, depth=10, widening=1)
    assert torch.equal(model(torch.randn(2, 3, 8, 8)), torch.zeros(2, 5))


def test_every_parameter_has_curvature():
    torch.manual_seed(0)
    model = FixupWideResNet((1, 8, 8), 3, depth=10, widening=1)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.1)
    inputs, targets = torch.randn(2, 1, 8, 8), torch.arange(2)
    names = [
        name for block in estimate(model, Classification(), [(inputs, targets)]).blocks.values() for name in block.names
    ]
    assert sorted(names) == sorted(weights_of(model))


def test_a_depth_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match=r"model.depth=12 does not fit"):
        FixupWideResNet((3, 32, 32), 10, depth=12)
