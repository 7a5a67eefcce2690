import numpy as np
import pytest
import torch
from PIL import Image

from symlab.data.images import channel_statistics, resize


def random_images(count: int, channels: int, size: int) -> torch.Tensor:
    return torch.randint(0, 256, (count, channels, size, size), generator=torch.Generator().manual_seed(0)).to(torch.uint8)


@pytest.mark.parametrize("resolution", [32, 17, 64])
def test_resize_agrees_with_pillow(resolution: int) -> None:
    images = random_images(3, 1, 56)
    found = resize(images, resolution)
    assert found.shape == (3, 1, resolution, resolution)
    for image, small in zip(images[:, 0], found[:, 0]):
        expected = Image.fromarray(image.numpy()).resize((resolution, resolution), Image.Resampling.BILINEAR)
        difference = np.abs(small.numpy().astype(int) - np.asarray(expected).astype(int))
        assert difference.max() <= 1  # Pillow rounds between its two passes


def test_none_and_the_same_size_keep_the_images() -> None:
    images = random_images(2, 3, 8)
    assert resize(images, None) is images
    assert resize(images, 8) is images


def test_no_images() -> None:
    assert len(resize(random_images(0, 1, 8), 4)) == 0


def test_statistics() -> None:
    images = random_images(50, 3, 5)
    mean, std = channel_statistics(images)
    values = images.double() / 255
    assert mean == pytest.approx(values.mean(dim=(0, 2, 3)).tolist())
    assert std == pytest.approx(values.std(dim=(0, 2, 3), unbiased=False).tolist())


def test_a_constant_channel_has_unit_std() -> None:
    assert channel_statistics(torch.full((2, 1, 3, 3), 51, dtype=torch.uint8)) == (pytest.approx((0.2,)), (1.0,))
