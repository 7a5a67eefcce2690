"""Batches whose content depends only on (seed, epoch, index), so that a resumed run sees what an unbroken one would.

Images are kept as uint8 (N, C, H, W) on the device and normalised batch by batch.
"""

import hashlib
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from symlab.data.dataset import Dataset
from symlab.trainer.protocol import Batch

Augmentation = Literal["none", "flip_and_shift"]

MAXIMAL_SHIFT = 4  # pixels, ELLA App. F.6


def derived_generator(*parts: int | str) -> torch.Generator:
    """A generator whose stream is a function of ``parts`` alone."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)


def flip_and_shift(images: Tensor, generator: torch.Generator, maximal_shift: int = MAXIMAL_SHIFT) -> Tensor:
    """Horizontal flip with probability 1/2 and a shift by up to ``maximal_shift`` pixels per axis, zeros moving in.

    images: (B, C, H, W); each image draws its own flip and shift.
    """
    count, _, height, width = images.shape
    flip = torch.rand(count, generator=generator) < 0.5
    shift = torch.randint(-maximal_shift, maximal_shift + 1, (2, count), generator=generator)
    rows = torch.arange(height) + shift[0, :, None]
    columns = torch.arange(width) + shift[1, :, None]
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    columns = torch.where(flip[:, None], width - 1 - columns, columns)
    sample = torch.arange(count)[:, None, None]
    rows, columns = rows.clamp(0, height - 1)[:, :, None], columns.clamp(0, width - 1)[:, None, :]
    device = images.device
    moved = images.permute(0, 2, 3, 1)[sample.to(device), rows.to(device), columns.to(device)].permute(0, 3, 1, 2)
    return moved * inside[:, None].to(device)


def epoch_batches(
    data: Dataset,
    batch_size: int,
    augmentation: Augmentation,
    seed: int,
    epoch: int,
    start: int = 0,
    maximal_shift: int = MAXIMAL_SHIFT,
) -> Iterator[Batch]:
    """The batches of one shuffled pass over ``data.train``, from the ``start``-th one on."""
    inputs, targets = data.train.inputs, data.train.targets
    order = torch.randperm(len(targets), generator=derived_generator(seed, "order", epoch)).to(inputs.device)
    for index, chosen in enumerate(order.split(batch_size)):
        if index < start:
            continue
        images = inputs[chosen]
        if augmentation == "flip_and_shift":
            images = flip_and_shift(images, derived_generator(seed, "augmentation", epoch, index), maximal_shift)
        yield Batch(data.normalise(images), targets[chosen])
