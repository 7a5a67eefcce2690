"""Images seen through affine maps, a few of them at a time.

    y_ns(p) = x_n(M_ns p),      x between pixel centres by bilinear interpolation, zero outside

The positions M_ns p of all pixels are twice as large as the copies themselves. They are made for a few images at a time,
forgotten once these are sampled, and made again for the gradient in M: nothing of their size is kept.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from symlab.transformations.affine import sampling_grid

BLOCK_ENTRIES = 2**20  # of the positions that are made at once: they stay in the cache


def sample_images(images: Tensor, maps: Tensor) -> Tensor:
    """Images (N, C, H, W), maps (N or 1, S, 2, 3) -> (N, S, C, H, W), differentiable once."""
    return _Sample.apply(images, maps)


class _Sample(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, maps: Tensor) -> Tensor:
        ctx.save_for_backward(images, maps)
        count, channels, height, width = images.shape
        copies = images.new_empty(count, maps.shape[1], channels, height, width)
        for block in _blocks(images, maps):
            copies[block] = _sample(images[block], _of_block(maps, block))
        return copies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        given, needed = ctx.saved_tensors, ctx.needs_input_grad
        totals = [torch.zeros_like(each) if asked else None for each, asked in zip(given, needed, strict=True)]
        for block in _blocks(*given):
            images, maps = (_of_block(each, block).detach().requires_grad_(asked) for each, asked in zip(given, needed))
            with torch.enable_grad():
                copies = _sample(images, maps)
            leaves = [leaf for leaf in (images, maps) if leaf.requires_grad]
            found = iter(torch.autograd.grad(copies, leaves, gradient[block]))
            for total in totals:
                if total is not None:
                    _of_block(total, block).add_(next(found))
        return totals[0], totals[1]


def _sample(images: Tensor, maps: Tensor) -> Tensor:
    count, channels, height, width = images.shape
    grid = sampling_grid(maps, height, width).flatten(1, 2)  # (N or 1, S H, W, 2): the grids of an image on one sheet
    sheets = functional.grid_sample(
        images, grid.expand(count, -1, -1, -1), mode="bilinear", padding_mode="zeros", align_corners=True
    )
    return sheets.view(count, channels, maps.shape[1], height, width).transpose(1, 2)


def _blocks(images: Tensor, maps: Tensor) -> Iterator[slice]:
    """Of neighbouring images."""
    entries = 2 * maps.shape[1] * images.shape[2] * images.shape[3]
    size = max(1, BLOCK_ENTRIES // entries)
    return (slice(start, start + size) for start in range(0, len(images), size))


def _of_block(tensor: Tensor, block: slice) -> Tensor:
    """All of what the images share."""
    return tensor if len(tensor) == 1 else tensor[block]
