"""Resizing and channel statistics of ``uint8 (N, C, H, W)`` images, a chunk at a time."""

import torch
from torch import Tensor
from torch.nn import functional

_CHUNK = 2000


def resize(images: Tensor, resolution: int | None) -> Tensor:
    """To ``resolution x resolution`` by antialiased bilinear interpolation, rounded back to uint8; None keeps the size."""
    if resolution is None or tuple(images.shape[-2:]) == (resolution, resolution) or not len(images):
        return images
    size = (resolution, resolution)
    return torch.cat([_resize_chunk(chunk, size) for chunk in images.split(_CHUNK)])


def _resize_chunk(images: Tensor, size: tuple[int, int]) -> Tensor:
    values = functional.interpolate(images.float(), size=size, mode="bilinear", antialias=True, align_corners=False)
    return values.round_().clamp_(0, 255).to(torch.uint8)


def channel_statistics(images: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation per channel on the scale 0..1; exact, from the histogram of the 256 grey levels.

    A constant channel gets a standard deviation of 1.
    """
    levels = torch.arange(256, dtype=torch.float64) / 255
    means, stds = [], []
    for channel in range(images.shape[1]):
        counts = torch.bincount(images[:, channel].reshape(-1).int(), minlength=256).double()
        weights = counts / counts.sum()
        mean = (weights * levels).sum()
        variance = (weights * (levels - mean) ** 2).sum()
        means.append(float(mean))
        stds.append(float(variance.sqrt()) if variance > 0 else 1.0)
    return tuple(means), tuple(stds)
