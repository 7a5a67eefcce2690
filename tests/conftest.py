"""Fixtures that several test files share."""

import pytest
import torch

from symlab.data.dataset import Dataset, Split

torch.set_num_threads(1)  # tests are many and small: a second thread would mostly wait for the first


@pytest.fixture
def blobs() -> Dataset:
    """Three separable classes of 1 x 4 x 4 images, 60 for training and 30 for testing."""
    generator = torch.Generator().manual_seed(0)

    def draw(count: int) -> Split:
        targets = torch.arange(count) % 3
        images = torch.randint(0, 60, (count, 1, 4, 4), generator=generator)
        images[torch.arange(count), 0, targets] += 150
        return Split(images.to(torch.uint8), targets)

    return Dataset("blobs", draw(60), draw(30), draw(30), n_classes=3, mean=(0.3,), std=(0.3,), notes=())
