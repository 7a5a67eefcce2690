import pytest
import torch

from symlab.errors import ConfigError
from symlab.models import LeNet


@pytest.mark.parametrize("size", [28, 32, 40])
def test_shapes(size: int):
    assert LeNet((3, size, size), 7)(torch.zeros(2, 3, size, size)).shape == (2, 7)


def test_parameters_are_those_of_lila():
    assert sum(parameter.numel() for parameter in LeNet((1, 28, 28), 10).parameters()) == 60_170


def test_images_that_are_too_small_are_refused():
    with pytest.raises(ConfigError, match=r"at least 28 pixels, not 16 x 16: set data.resolution"):
        LeNet((1, 16, 16), 10)
