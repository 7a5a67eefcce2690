import math

import pytest
import torch
from torch import Tensor

from lila.affine import AffineDistribution
from symlab.errors import ConfigError
from symlab.transformations.affine import GENERATORS
from tests.oracles import finite_difference

MATRICES = {
    "translation_x": [[0, 0, 1], [0, 0, 0], [0, 0, 0]],
    "translation_y": [[0, 0, 0], [0, 0, 1], [0, 0, 0]],
    "rotation": [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
    "scale_x": [[1, 0, 0], [0, 0, 0], [0, 0, 0]],
    "scale_y": [[0, 0, 0], [0, 1, 0], [0, 0, 0]],
    "shear": [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
}


def only(**entries: float) -> AffineDistribution:
    return AffineDistribution(tuple(entries.get(name, 0.0) for name in GENERATORS))


def one_pixel_at_a_time(images: Tensor, eta: Tensor, noise: Tensor) -> Tensor:
    """Oracle: every pixel of every copy by its definition, bilinear between the four pixels around the mapped position."""
    count, channels, height, width = images.shape
    copies = torch.zeros(count, noise.shape[1], channels, height, width, dtype=images.dtype)
    for n in range(count):
        for s in range(noise.shape[1]):
            generator = sum(
                noise[n, s, i] * eta[i] * torch.tensor(MATRICES[name], dtype=images.dtype)
                for i, name in enumerate(GENERATORS)
            )
            matrix = torch.linalg.matrix_exp(generator)
            for row in range(height):
                for column in range(width):
                    place = [2 * column / (width - 1) - 1, 2 * row / (height - 1) - 1, 1.0]
                    x, y, _ = (matrix @ torch.tensor(place, dtype=images.dtype)).tolist()
                    right, down = (x + 1) * (width - 1) / 2, (y + 1) * (height - 1) / 2
                    for r in (math.floor(down), math.floor(down) + 1):
                        for c in (math.floor(right), math.floor(right) + 1):
                            if 0 <= r < height and 0 <= c < width:
                                share = (1 - abs(down - r)) * (1 - abs(right - c))
                                copies[n, s, :, row, column] += share * images[n, :, r, c]
    return copies


@pytest.fixture
def images() -> Tensor:
    return torch.rand(2, 3, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_copies_against_one_pixel_at_a_time(images):
    distribution = AffineDistribution((0.3, -0.2, 1.1, 0.4, -0.3, 0.25))
    noise = distribution.noise(2, 3, torch.Generator().manual_seed(0))
    found = distribution.transform(images, noise)
    assert found.shape == (2, 3, 3, 5, 6)
    torch.testing.assert_close(found, one_pixel_at_a_time(images, distribution.values(), noise), rtol=1e-10, atol=1e-10)


def test_without_spread_every_copy_is_the_image(images):
    distribution = AffineDistribution()
    copies = distribution.transform(images, distribution.noise(2, 4, torch.Generator().manual_seed(0)))
    torch.testing.assert_close(copies, images[:, None].expand(-1, 4, -1, -1, -1), rtol=1e-12, atol=1e-12)


def test_known_transformations(images):
    square = images[..., :5]
    end = torch.ones(1, 1, 6, dtype=torch.float64)
    turned = only(rotation=math.pi / 2).transform(square, end)[:, 0]
    torch.testing.assert_close(turned, square.rot90(1, (2, 3)), rtol=1e-10, atol=1e-10)
    moved = only(translation_x=2 / 5).transform(images, end)[:, 0]  # one pixel of six
    torch.testing.assert_close(moved[..., :-1], images[..., 1:], rtol=1e-10, atol=1e-10)
    assert moved[..., -1].abs().max() < 1e-10  # zeros move in


def test_gradients_reach_every_generator(images):
    distribution = AffineDistribution((0.21, -0.13, 0.7, 0.33, -0.21, 0.17))
    noise = distribution.noise(2, 3, torch.Generator().manual_seed(0))
    weights = torch.rand(2, 3, 3, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(5))

    def value(eta: Tensor) -> Tensor:
        return (AffineDistribution(tuple(eta.tolist())).transform(images, noise) * weights).sum().detach()

    (found,) = torch.autograd.grad((distribution.transform(images, noise) * weights).sum(), distribution.eta)
    expected = finite_difference(value, distribution.values(), step=1e-7)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_entries_that_are_not_learnable_have_no_gradient(images):
    distribution = AffineDistribution((0.3,) * 6, learnable=(True, False, True, False, True, False))
    copies = distribution.transform(images, distribution.noise(2, 3, torch.Generator().manual_seed(0)))
    (gradient,) = torch.autograd.grad(copies.square().sum(), distribution.eta)
    assert (gradient != 0).tolist() == [True, False, True, False, True, False]


def test_noise_is_uniform_and_a_function_of_the_generator():
    distribution = AffineDistribution()
    first, again = (distribution.noise(50, 40, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, distribution.noise(50, 40, torch.Generator().manual_seed(4)))
    assert first.shape == (50, 40, 6)
    assert first.abs().max() <= 1
    assert first.mean(dim=(0, 1)).abs().max() < 0.05
    torch.testing.assert_close(first.square().mean((0, 1)), torch.full((6,), 1 / 3, dtype=torch.float64), rtol=0.05, atol=0)


def test_common_noise_is_shared_by_all_images(images):
    distribution = AffineDistribution((0.2,) * 6)
    noise = distribution.noise(1, 3, torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        distribution.transform(images, noise), distribution.transform(images, noise.expand(2, -1, -1)), rtol=0, atol=0
    )


def test_rotation_is_kept_within_half_a_turn():
    distribution = AffineDistribution((5.0, 0.0, -5.0, 0.0, 0.0, 0.0))
    distribution.project()
    assert distribution.values().tolist() == pytest.approx([5.0, 0, -math.pi, 0, 0, 0])


def test_description_in_units_that_a_person_reads():
    distribution = AffineDistribution((-0.5, 0.25, -math.pi / 2, math.log(2), 0.0, math.log(1.1)))
    described = distribution.describe((1, 29, 29))
    assert described["eta/rotation"] == pytest.approx(-math.pi / 2)
    meanings = {name.removeprefix("invariance/"): value for name, value in described.items() if name.startswith("inv")}
    assert meanings == pytest.approx(
        {
            "translation_x_pixels": 7.0,
            "translation_y_pixels": 3.5,
            "rotation_degrees": 90.0,
            "scale_x_percent": 100.0,
            "scale_y_percent": 0.0,
            "shear_percent": 10.0,
        }
    )


@pytest.mark.parametrize("arguments", [{"initial": (0.0,)}, {"learnable": (True, False)}])
def test_entries_for_other_generators_are_refused(arguments):
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        AffineDistribution(**arguments)
