"""The maximum over windows of 2 x 2 pixels where channels lie side by side in memory, also of a ReLU.

    y(w, c) = max over q in window w of x(q, c)        or of max(0, x(q, c))

Which of the four pixels has the maximum is kept in one byte. The gradient is placed by it in one pass: torch first fills a
map with zeros, then adds what arrives, and after a ReLU reads and writes the map once more, although y already tells where
the ReLU was open. Derivatives exist to any order: placing and collecting are linear, and each is the other's transpose.

Layout: x (N, C, H, W) with the strides of (N, H, W, C); y and places (N, C, H // 2, W // 2), likewise.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from symlab.compiled import call, compiled, is_plain
from symlab.signatures import with_signature

NOWHERE = 4  # the place of a maximum that the ReLU cuts off


@compiled
def _find(maps: np.ndarray, rectified: bool, values: np.ndarray, places: np.ndarray) -> None:
    """(N, H, W, C) -> (N, h, w, C). Of equal pixels the first counts, as in torch."""
    count, rows, columns, channels = values.shape
    for index in range(count):
        for row in range(rows):
            for column in range(columns):
                a, b = maps[index, 2 * row, 2 * column], maps[index, 2 * row, 2 * column + 1]
                c, d = maps[index, 2 * row + 1, 2 * column], maps[index, 2 * row + 1, 2 * column + 1]
                into, at = values[index, row, column], places[index, row, column]
                for channel in range(channels):
                    upper, lower = max(a[channel], b[channel]), max(c[channel], d[channel])
                    largest, total = max(upper, lower), a[channel] + b[channel] + c[channel] + d[channel]
                    in_upper = np.uint8(b[channel] > a[channel])
                    in_lower = np.uint8(2) + np.uint8(d[channel] > c[channel])
                    place = in_lower if lower > upper else in_upper
                    is_closed = rectified and not largest > 0
                    # What is not a number stays visible: then so is the sum.
                    into[channel] = total if total != total else (0 if is_closed else largest)
                    at[channel] = np.uint8(NOWHERE) if is_closed else place


@compiled
def _place(gradients: np.ndarray, places: np.ndarray, maps: np.ndarray) -> None:
    """(N, h, w, C) -> (N, H, W, C), zero elsewhere."""
    count, rows, columns, channels = gradients.shape
    if maps.shape[1] > 2 * rows:
        maps[:, 2 * rows :] = 0
    if maps.shape[2] > 2 * columns:
        maps[:, :, 2 * columns :] = 0
    for index in range(count):
        for row in range(rows):
            for column in range(columns):
                given, at = gradients[index, row, column], places[index, row, column]
                for pixel in range(4):  # one after the other: a loop that writes into four rows is not vectorised
                    into, own = maps[index, 2 * row + pixel // 2, 2 * column + pixel % 2], np.uint8(pixel)
                    for channel in range(channels):
                        into[channel] = given[channel] if at[channel] == own else 0


@compiled
def _collect(maps: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """The transpose of ``_place``."""
    count, rows, columns, channels = values.shape
    for index in range(count):
        for row in range(rows):
            for column in range(columns):
                into, at = values[index, row, column], places[index, row, column]
                into[:] = 0
                for pixel in range(4):
                    taken, own = maps[index, 2 * row + pixel // 2, 2 * column + pixel % 2], np.uint8(pixel)
                    for channel in range(channels):
                        into[channel] += taken[channel] if at[channel] == own else 0


class _Maximum(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(features: Tensor, rectified: Tensor | None) -> tuple[Tensor, Tensor]:
        maps = _pixels(features if rectified is None else rectified)
        count, height, width, channels = maps.shape
        values = maps.new_empty(count, height // 2, width // 2, channels)
        places = torch.empty(values.shape, dtype=torch.uint8)
        call(_find, maps, rectified is not None, values, places)
        return _channels_first(values), places

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor | None], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(output[1])
        ctx.extent = inputs[0].shape[2:]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, _: None) -> tuple[Tensor | None, None]:
        return None if gradient is None else _Place.apply(gradient, *ctx.saved_tensors, ctx.extent), None


class _Place(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(gradient: Tensor, places: Tensor, extent: torch.Size) -> Tensor:
        given = _pixels(gradient)
        if is_plain(given):
            maps = given.new_empty(len(given), *extent, given.shape[3])
            call(_place, given, places, maps)
            return _channels_first(maps)
        quarters = given[..., None, None] * _one_hot(places, given)  # (N, h, w, C, 2, 2)
        maps = quarters.permute(0, 1, 4, 2, 5, 3).flatten(1, 2).flatten(2, 3)
        missing = (extent[1] - maps.shape[2], extent[0] - maps.shape[1])
        return _channels_first(nn.functional.pad(maps, (0, 0, 0, missing[0], 0, missing[1])))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, torch.Size], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _Collect.apply(gradient, *ctx.saved_tensors), None, None


class _Collect(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(features: Tensor, places: Tensor) -> Tensor:
        maps = _pixels(features)
        if is_plain(maps):
            values = maps.new_empty(places.shape)
            call(_collect, maps, places, values)
            return _channels_first(values)
        rows, columns = places.shape[1:3]
        inside = maps[:, : 2 * rows, : 2 * columns].unflatten(2, (columns, 2)).unflatten(1, (rows, 2))
        return _channels_first((inside.permute(0, 1, 3, 5, 2, 4) * _one_hot(places, maps)).sum((-2, -1)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.extent = inputs[0].shape[2:]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Place.apply(gradient, *ctx.saved_tensors, ctx.extent), None


def _one_hot(places: Tensor, like: Tensor) -> Tensor:
    """(N, h, w, C) -> (N, h, w, C, 2, 2): 1 at the pixel of the maximum."""
    pixels = torch.arange(4, dtype=places.dtype, device=places.device).view(2, 2)
    return (places[..., None, None] == pixels).to(like.dtype)


def _pixels(features: Tensor) -> Tensor:
    """(N, C, H, W) -> (N, H, W, C), contiguous: a copy only of what lies otherwise."""
    return features.permute(0, 2, 3, 1).contiguous()


def _channels_first(pixels: Tensor) -> Tensor:
    return pixels.permute(0, 3, 1, 2)


def has_channelwise_maximum(features: Tensor) -> bool:
    """Whether these are maps in memory with channels side by side, of which there is a loop."""
    return is_plain(features) and features.dim() == 4 and features.is_contiguous(memory_format=torch.channels_last)


def channelwise_maximum(features: Tensor, rectified: Tensor | None = None) -> Tensor:
    """The maxima over windows of 2 x 2; with ``rectified`` = max(0, features) those of it, by gradients in ``features``."""
    return _Maximum.apply(features, rectified)[0]
