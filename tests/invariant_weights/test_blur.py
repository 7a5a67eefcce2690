import math

import pytest
import torch

from invariant_weights.blur import blur_matrix, blurred
from symlab.errors import ConfigError


def test_blur_against_sums_over_neighbours():
    filters = torch.randn(2, 3, 7, 6, generator=torch.Generator().manual_seed(0)).double()
    found = blurred(filters, blur_matrix(7, 1.0).double(), blur_matrix(6, 1.0).double())
    weight = [math.exp(-0.5 * offset**2) for offset in range(-4, 5)]
    total = sum(weight)
    for row in range(7):
        for column in range(6):
            expected = sum(
                weight[r - row + 4] * weight[c - column + 4] / total**2 * filters[:, :, r, c]
                for r in range(max(0, row - 4), min(7, row + 5))
                for c in range(max(0, column - 4), min(6, column + 5))
            )
            torch.testing.assert_close(found[:, :, row, column], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("pixels", [0.0, 0.1])
def test_a_tenth_of_a_pixel_changes_nothing(pixels):
    torch.testing.assert_close(blur_matrix(9, pixels), torch.eye(9))


def test_a_negative_width_is_refused():
    with pytest.raises(ConfigError, match="blur=-1"):
        blur_matrix(4, -1)
