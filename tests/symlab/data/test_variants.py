import math

import pytest
import torch
from torch import Tensor

from symlab.data.subsets import stream
from symlab.data.variants import Affine, Quadrants, Unchanged, Variant, output_to_input
from symlab.errors import DataError

VARIANTS = [Unchanged(), Affine(180.0), Affine(0.0, 8), Affine(0.0, 0, 2.0), Affine(90.0, 3, 1.5), Quadrants()]


def random_images(count: int, channels: int = 1, height: int = 28, width: int = 28) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (count, channels, height, width), generator=generator).to(torch.uint8)


def parameters(degrees: float = 0.0, dx: float = 0.0, dy: float = 0.0, log_scale: float = 0.0) -> Tensor:
    return torch.tensor([[math.radians(degrees), dx, dy, log_scale]], dtype=torch.float64)


def slow_affine(image: Tensor, degrees: float, dx: float, dy: float, scale: float) -> Tensor:
    """One pixel at a time: undo scaling, translation and rotation around the centre, then interpolate with zeros outside."""
    height, width = image.shape
    out = torch.zeros(height, width, dtype=torch.float64)
    angle = math.radians(degrees)
    for row in range(height):
        for column in range(width):
            x, y = column - (width - 1) / 2, (height - 1) / 2 - row  # y up
            x, y = x / scale, y / scale
            x, y = x - dx, y + dy
            x, y = math.cos(angle) * x + math.sin(angle) * y, -math.sin(angle) * x + math.cos(angle) * y
            source_row, source_column = (height - 1) / 2 - y, x + (width - 1) / 2
            top, left = math.floor(source_row), math.floor(source_column)
            for r in (top, top + 1):
                for c in (left, left + 1):
                    if 0 <= r < height and 0 <= c < width:
                        weight = (1 - abs(source_row - r)) * (1 - abs(source_column - c))
                        out[row, column] += weight * float(image[r, c])
    return out


@pytest.mark.parametrize("size", [28, 7])
@pytest.mark.parametrize("quarter_turns", [1, 2, 3, -1])
def test_quarter_turns_are_rot90(quarter_turns: int, size: int) -> None:
    images = random_images(1, 3, size, size)
    found = Affine().transform(images, parameters(degrees=90.0 * quarter_turns))
    assert torch.equal(found, torch.rot90(images, quarter_turns, dims=(2, 3)))


@pytest.mark.parametrize(("dx", "dy"), [(3, 0), (0, -5), (-8, 8), (2, 7)])
def test_translation_is_a_shifted_copy(dx: int, dy: int) -> None:
    images = random_images(1, 1, 28, 32)
    expected = torch.zeros_like(images)
    for row in range(28):
        for column in range(32):
            if 0 <= row - dy < 28 and 0 <= column - dx < 32:
                expected[..., row, column] = images[..., row - dy, column - dx]
    assert torch.equal(Affine().transform(images, parameters(dx=dx, dy=dy)), expected)


@pytest.mark.parametrize(
    ("degrees", "dx", "dy", "scale"),
    [
        (33.0, 0, 0, 1.0),
        (0, 0, 0, 1.7),
        (0, 0, 0, 0.5),
        (-70.0, 3, -2, 1.0),
        (120.0, 0, 0, 1.4),
        (0, 4, 1, 0.7),
        (50.0, -3, 5, 1.2),
    ],
)
@pytest.mark.parametrize("shape", [(12, 12), (10, 14)])
def test_affine_agrees_with_the_slow_version(shape: tuple[int, int], degrees: float, dx: int, dy: int, scale: float) -> None:
    image = random_images(1, 1, *shape)
    found = Affine().transform(image, parameters(degrees, dx, dy, math.log(scale)))[0, 0].double()
    expected = slow_affine(image[0, 0], degrees, dx, dy, scale)
    assert (found - expected).abs().max() <= 0.5 + 1e-2


def test_identity_keeps_every_pixel() -> None:
    images = random_images(3, 2)
    assert torch.equal(Affine().transform(images, parameters().expand(3, 4)), images)


def test_maps_are_per_image() -> None:
    images = random_images(2)
    both = torch.cat([parameters(degrees=90.0), parameters(dx=4.0)])
    found = Affine().transform(images, both)
    assert torch.equal(found[:1], Affine().transform(images[:1], both[:1]))
    assert torch.equal(found[1:], Affine().transform(images[1:], both[1:]))
    assert output_to_input(both, 28, 28).shape == (2, 2, 3)


def test_draws_fill_their_ranges() -> None:
    drawn = Affine(90.0, 8, 2.0).draw(5000, stream(0, "test"))
    angle, dx, dy, log_scale = drawn.unbind(dim=1)
    assert -math.pi / 2 <= angle.min() < -1.5
    assert 1.5 < angle.max() <= math.pi / 2
    assert set(dx.tolist()) == set(dy.tolist()) == set(range(-8, 9))
    assert -math.log(2) <= log_scale.min() < -0.69
    assert 0.69 < log_scale.max() <= math.log(2)
    assert abs(log_scale.mean()) < 0.02


def test_unused_transformations_are_not_drawn() -> None:
    assert (Affine(max_pixels=3).draw(100, stream(0, "test"))[:, [0, 3]] == 0).all()


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_determinism(variant: Variant) -> None:
    assert torch.equal(variant.draw(50, stream(3, "a")), variant.draw(50, stream(3, "a")))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_subset_sees_the_same_transformations(variant: Variant) -> None:
    images, chosen = random_images(30), torch.tensor([4, 7, 21])
    drawn = variant.draw(30, stream(0, "test"))
    assert torch.equal(variant.transform(images, drawn)[chosen], variant.transform(images[chosen], drawn[chosen]))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_no_images(variant: Variant) -> None:
    assert len(variant.transform(random_images(0), variant.draw(0, stream(0, "test")))) == 0


def test_quadrants_are_where_they_should_be() -> None:
    images = random_images(4, 3, 5, 5)
    canvas = Quadrants().transform(images, torch.arange(4).unsqueeze(1))
    assert canvas.shape == (4, 3, 10, 10)
    for quadrant, (row, column) in enumerate([(0, 0), (0, 5), (5, 0), (5, 5)]):
        expected = torch.zeros(3, 10, 10, dtype=torch.uint8)
        expected[:, row : row + 5, column : column + 5] = images[quadrant]
        assert torch.equal(canvas[quadrant], expected)


def test_quadrant_labels() -> None:
    targets, drawn = torch.tensor([3, 9, 0, 5]), torch.arange(4).unsqueeze(1)
    same, ten = Quadrants("digit").relabel(targets, drawn, 10)
    new, forty = Quadrants("digit_and_quadrant").relabel(targets, drawn, 10)
    assert same.tolist() == [3, 9, 0, 5]
    assert ten == 10
    assert new.tolist() == [3, 19, 20, 35]
    assert forty == 40
    assert new.dtype == torch.int64


def test_all_quadrants_are_drawn_equally_often() -> None:
    counts = torch.bincount(Quadrants().draw(4000, stream(0, "test"))[:, 0])
    assert counts.min() > 900
    assert len(counts) == 4


@pytest.mark.parametrize(
    ("arguments", "key"),
    [({"max_degrees": 181.0}, "max_degrees"), ({"max_pixels": -1}, "max_pixels"), ({"max_scale": 0.5}, "max_scale")],
)
def test_bad_values_name_the_key(arguments: dict[str, float], key: str) -> None:
    with pytest.raises(DataError, match=rf"data\.variant\.{key}"):
        Affine(**arguments)  # type: ignore[arg-type]


def test_bad_labels_name_the_key() -> None:
    with pytest.raises(DataError, match=r"data\.variant\.labels"):
        Quadrants("both")  # type: ignore[arg-type]
