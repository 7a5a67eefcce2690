"""Inner products of transformed weights with inputs, W_1 o T o x of Eq. 2, in two ways that give the same numbers.

    on weights    w_s = M_s w:  every filter is resampled bilinearly for each transformation, then multiplied with the inputs
    on inputs     <M_s w, x> = <w, M_s^T x>:  the adjoint of the resampling is applied to the inputs, once for all filters

M_s is linear in the weights: pixel q of a transformed filter is the filter's value at position T_s q, bilinear between the
four pixels around it (the taps), zero outside. Its adjoint adds x(q) to the same four pixels with the same shares. Both are
differentiable in the maps, and so in eta. Points of the plane need no interpolation: <w, A x + t> = <A^T w, x> + <w, t>.

    inputs    (B, C, h, w) or (B, 2)          filters  (H, C, h, w) or (H, 2)
    maps      (S, 2, 3)                       products (H, S, B)
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from symlab.transformations.affine import sampling_grid


def products_on_weights(inputs: Tensor, filters: Tensor, maps: Tensor) -> Tensor:
    if filters.ndim == 2:
        moved = filters @ maps  # (S, H, 3): A^T w and <w, t>
        return (moved[..., :2] @ inputs.T + moved[..., 2:]).transpose(0, 1)
    banks = resample(filters, maps)  # (S, H, C, h, w)
    return (banks.flatten(2) @ inputs.flatten(1).T).transpose(0, 1)


def products_on_inputs(inputs: Tensor, filters: Tensor, maps: Tensor) -> Tensor:
    if filters.ndim == 2:
        moved = inputs @ maps[..., :2].mT + maps[:, None, :, 2]  # (S, B, 2)
        return (filters @ moved.flatten(0, 1).T).view(len(filters), len(maps), len(inputs))
    copies = adjoint_copies(inputs, maps)  # (h w, S, C, B)
    channels, batch = inputs.shape[1], len(inputs)
    rows = copies.transpose(1, 2).reshape(-1, len(maps) * batch)  # pixels and channels; a view where there is one channel
    columns = filters.flatten(2).transpose(1, 2).reshape(len(filters), -1) if channels > 1 else filters.flatten(1)
    return (columns @ rows).view(len(filters), len(maps), batch)


def resample(filters: Tensor, maps: Tensor) -> Tensor:
    """Filters (H, C, h, w) -> their copies (S, H, C, h, w)."""
    count, channels, height, width = filters.shape
    grid = sampling_grid(maps, height, width)
    sheet = filters.reshape(1, count * channels, height, width).expand(len(maps), -1, -1, -1)
    sampled = functional.grid_sample(sheet, grid, mode="bilinear", padding_mode="zeros", align_corners=True)
    return sampled.view(len(maps), count, channels, height, width)


def adjoint_copies(inputs: Tensor, maps: Tensor) -> Tensor:
    """M_s^T x for every input and map: (B, C, h, w), (S, 2, 3) -> (h w, S, C, B).

    All inputs share the maps, so M^T is one sparse matrix with four entries a column, multiplied with the rows of the inputs
    (pixel by pixel, a whole batch at a time). Entries are sorted by the row of the result they belong to; then every row is
    a weighted sum over one bag of entries.
    """
    batch, channels, height, width = inputs.shape
    pixels, samples = height * width, len(maps)
    taps = bilinear_taps(sampling_grid(maps, height, width).flatten(1, 2), height, width)  # (S, q, 4)
    sample = torch.arange(samples, device=inputs.device)[:, None, None]
    bags, order = (taps.pixel * samples + sample).flatten().sort()
    source = torch.arange(pixels, device=inputs.device)[:, None].expand(samples, pixels, 4).flatten()
    starts = torch.searchsorted(bags, torch.arange(pixels * samples, device=inputs.device))
    rows = inputs.reshape(batch, channels, pixels).permute(2, 1, 0).reshape(pixels, channels * batch)
    copies = functional.embedding_bag(
        source[order], rows, starts, mode="sum", per_sample_weights=taps.share.flatten()[order]
    )
    return copies.view(pixels, samples, channels, batch)


class Taps(NamedTuple):
    """The four pixels around each position, ``pixel`` (..., 4), and how much of each it takes, ``share`` (..., 4)."""

    pixel: Tensor
    share: Tensor


def bilinear_taps(positions: Tensor, height: int, width: int) -> Taps:
    """Positions (..., 2) in [-1, 1] between the outermost pixels' centres; outside of the image a share is zero."""
    right = (positions[..., 0] + 1) * ((width - 1) / 2)
    down = (positions[..., 1] + 1) * ((height - 1) / 2)
    left_column, upper_row = right.detach().floor(), down.detach().floor()
    from_left, from_top = right - left_column, down - upper_row
    pixels, shares = [], []
    for row, vertical in ((upper_row, 1 - from_top), (upper_row + 1, from_top)):
        for column, horizontal in ((left_column, 1 - from_left), (left_column + 1, from_left)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            shares.append(vertical * horizontal * inside)
            pixels.append(torch.where(inside, row * width + column, torch.zeros_like(row)).long())
    return Taps(torch.stack(pixels, -1), torch.stack(shares, -1))
