"""App. E of "Learning invariant weights" (and Section 3.1 of LILA): exponentials of generators against closed forms."""

import math

import pytest
import torch
from torch import Tensor

from symlab.errors import ConfigError
from symlab.transformations.affine import GENERATORS, affine_maps, affine_reach, check_entries, sampling_grid

AMOUNTS = (-math.pi, -1.3, -0.2, 0.0, 1e-9, 0.7, 2.9)


def coefficients(**entries: float) -> Tensor:
    return torch.tensor([entries.get(name, 0.0) for name in GENERATORS], dtype=torch.float64)


@pytest.mark.parametrize("angle", AMOUNTS)
def test_rotation(angle):
    cos, sin = math.cos(angle), math.sin(angle)
    expected = torch.tensor([[cos, -sin, 0], [sin, cos, 0]], dtype=torch.float64)
    torch.testing.assert_close(affine_maps(coefficients(rotation=angle)), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_translation(amount):
    found = affine_maps(coefficients(translation_x=amount, translation_y=-0.5))
    expected = torch.tensor([[1, 0, amount], [0, 1, -0.5]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_scale(amount):
    found = affine_maps(coefficients(scale_x=amount, scale_y=0.4))
    expected = torch.tensor([[math.exp(amount), 0, 0], [0, math.exp(0.4), 0]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_shear(amount):
    found = affine_maps(coefficients(shear=amount))
    expected = torch.tensor(
        [[math.cosh(amount), math.sinh(amount), 0], [math.sinh(amount), math.cosh(amount), 0]], dtype=torch.float64
    )
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_a_sampling_grid_maps_every_pixel():
    maps = affine_maps(0.6 * torch.randn(2, 3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    found = sampling_grid(maps, 4, 5)
    assert found.shape == (2, 3, 4, 5, 2)
    for row in range(4):
        for column in range(5):
            place = torch.tensor([2 * column / 4 - 1, 2 * row / 3 - 1, 1.0], dtype=torch.float64)
            torch.testing.assert_close(found[:, :, row, column], maps @ place, rtol=1e-12, atol=1e-12)


def test_reach_in_units_that_a_person_reads():
    found = affine_reach(coefficients(translation_x=-0.5, rotation=math.pi / 2, scale_y=math.log(2)), (1, 29, 29))
    assert found == pytest.approx(
        {
            "translation_x_pixels": 7.0,
            "translation_y_pixels": 0.0,
            "rotation_degrees": 90.0,
            "scale_x_percent": 0.0,
            "scale_y_percent": 100.0,
            "shear_percent": 0.0,
        }
    )


def test_too_few_entries_are_refused():
    with pytest.raises(ConfigError, match="initial"):
        check_entries("initial", (0.0,))
