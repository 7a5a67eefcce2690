import math

import pytest
import torch

from lila.circle import RotationDistribution
from tests.oracles import finite_difference


def test_points_are_turned_about_the_origin():
    points = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    distribution = RotationDistribution(0.8)
    noise = distribution.noise(4, 3, torch.Generator().manual_seed(1))
    found = distribution.transform(points, noise)
    for n in range(4):
        for s in range(3):
            angle = 0.8 * noise[n, s, 0].item()
            matrix = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
            expected = torch.tensor(matrix, dtype=torch.float64) @ points[n]
            torch.testing.assert_close(found[n, s], expected, rtol=1e-12, atol=1e-12)


def test_gradient():
    points = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    distribution = RotationDistribution(0.8)
    noise = distribution.noise(4, 3, torch.Generator().manual_seed(1))
    (found,) = torch.autograd.grad(distribution.transform(points, noise)[..., 0].exp().sum(), distribution.eta)

    def value(eta: torch.Tensor) -> torch.Tensor:
        return RotationDistribution(eta.item()).transform(points, noise)[..., 0].exp().sum().detach()

    torch.testing.assert_close(found, finite_difference(value, distribution.values()), rtol=1e-7, atol=1e-7)


def test_half_a_turn_is_the_most_and_is_told_in_degrees():
    distribution = RotationDistribution(-4.0)
    distribution.project()
    assert distribution.describe((2,)) == pytest.approx({"eta/rotation": -math.pi, "invariance/rotation_degrees": 180.0})
