"""The maximum over windows side by side, as nn.MaxPool2d(k) takes it, and a shift that several maps have in common.

    y_ns(c, w) = max over q in window w of x_ns(c, q)  = x_ns(c, q_ns(c, w))

x_ns may be a map x'_ns + e_n, of which e_n = 0 is the same for all copies s of data point n. Gradients go to the places
q_ns(c, w) of the maxima, those of e summed over copies:

    dL/dx_ns(c, q) = sum of dL/dy_ns(c, w) where q_ns(c, w) = q,        dL/de_n = sum_s dL/dx_ns

Maps of gradients of all copies, three quarters of them zeros for a window of 2 x 2, are never made for e, neither in a
backward pass nor in the one through it. Derivatives exist to any order: both ways are linear, and each is the other's
transpose.

Layout: x (N S, C, H, W), n-major; e (N, C, H, W); places as torch counts them, rows of H x W one after the other.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from symlab.compiled import call, compiled, is_plain
from symlab.signatures import with_signature

Extent = tuple[int, int]


@compiled
def _find(maps: np.ndarray, values: np.ndarray, places: np.ndarray) -> None:
    """maps (M, H, W) -> values, places (M, H // 2, W // 2). Without branches, which could not be foreseen."""
    count, rows, columns = values.shape
    length = np.int32(maps.shape[2])
    for index in range(count):
        for row in range(rows):
            above, below, into, at = maps[index, 2 * row], maps[index, 2 * row + 1], values[index, row], places[index, row]
            for column in range(columns):
                a, b, c, d = above[2 * column], above[2 * column + 1], below[2 * column], below[2 * column + 1]
                upper, lower, total = max(a, b), max(c, d), a + b + c + d
                # What is not a number stays visible: then so is the sum.
                into[column] = max(upper, lower) if total == total else total
                is_right = np.int32(d > c) if lower > upper else np.int32(b > a)
                at[column] = np.int32(2 * row * length + 2 * column) + length * np.int32(lower > upper) + is_right


@compiled
def _spread(gradients: np.ndarray, places: np.ndarray, maps: np.ndarray) -> None:
    """gradients, places (N, S, C, w), added to maps (N, C, H W) from all copies."""
    points, copies, channels, windows = gradients.shape
    for index in range(points):
        for channel in range(channels):
            into = maps[index, channel]
            into[:] = 0
            for copy in range(copies):
                given, at = gradients[index, copy, channel], places[index, copy, channel]
                for window in range(windows):
                    into[np.uint64(at[window])] += given[window]


@compiled
def _collect(maps: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """The transpose of ``_spread``."""
    points, copies, channels, windows = values.shape
    for index in range(points):
        for channel in range(channels):
            taken = maps[index, channel]
            for copy in range(copies):
                into, at = values[index, copy, channel], places[index, copy, channel]
                for window in range(windows):
                    into[window] = taken[np.uint64(at[window])]


class _Maximum(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(features: Tensor, shift: Tensor | None, window: Extent) -> tuple[Tensor, Tensor]:
        # With channels side by side torch has a loop of its own that is as fast.
        if window != (2, 2) or not is_plain(features) or not features.is_contiguous():
            return nn.functional.max_pool2d(features, window, return_indices=True)
        count, channels, height, width = features.shape
        values = features.new_empty(count, channels, height // 2, width // 2)
        places = torch.empty(values.shape, dtype=torch.int64)
        call(_find, features.flatten(0, 1), values.flatten(0, 1), places.flatten(0, 1))
        return values, places

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor | None, Extent], output: tuple[Tensor, Tensor]) -> None:
        features, shift, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(output[1])
        ctx.shape, ctx.shift_shape = features.shape, None if shift is None else shift.shape

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, _: None) -> tuple[Tensor | None, Tensor | None, None]:
        (places,) = ctx.saved_tensors
        if gradient is None:
            return None, None, None
        wanted_features, wanted_shift, _ = ctx.needs_input_grad
        in_features = _Spread.apply(gradient, places, ctx.shape) if wanted_features else None
        in_shift = _Spread.apply(gradient, places, ctx.shift_shape) if wanted_shift else None
        return in_features, in_shift, None


class _Spread(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(gradients: Tensor, places: Tensor, shape: torch.Size) -> Tensor:
        by_point = _by_point(shape[0], gradients.contiguous(), places.contiguous())
        if is_plain(gradients):
            maps = gradients.new_empty(shape)
            call(_spread, *by_point, maps.flatten(2))
            return maps
        gradients, places = (each.transpose(1, 2).flatten(2) for each in by_point)  # (N, C, S w)
        return gradients.new_zeros(*shape[:2], shape[2] * shape[3]).scatter_add(2, places, gradients).view(shape)

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
    def forward(maps: Tensor, places: Tensor) -> Tensor:
        (at,) = _by_point(len(maps), places.contiguous())
        if is_plain(maps):
            values = maps.new_empty(places.shape)
            call(_collect, maps.contiguous().flatten(2), at, values.view(at.shape))
            return values
        flat = maps.flatten(2)[:, None].expand(-1, at.shape[1], -1, -1)
        return flat.gather(3, at).view(places.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.shape = inputs[0].shape
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Spread.apply(gradient, *ctx.saved_tensors, ctx.shape), None


def _by_point(n_data: int, *tensors: Tensor) -> list[Tensor]:
    """(N S, C, h, w) -> (N, S, C, h w)"""
    return [each.reshape(n_data, -1, each.shape[1], each.shape[2] * each.shape[3]) for each in tensors]


def window_of(module: nn.MaxPool2d) -> Extent | None:
    """Its windows, if they lie side by side and leave nothing out but a rest at the end."""
    window, stride, padding, dilation = (
        (each, each) if isinstance(each, int) else tuple(each)
        for each in (module.kernel_size, module.stride, module.padding, module.dilation)
    )
    is_plain_window = window == stride and padding == (0, 0) and dilation == (1, 1) and not module.ceil_mode
    return (window[0], window[1]) if is_plain_window else None


def window_maximum(features: Tensor, window: Extent, shift: Tensor | None = None) -> Tensor:
    """(N S, C, H, W) -> (N S, C, h, w), the maxima of ``features`` + ``shift`` (N, C, H, W), which is zero."""
    return _Maximum.apply(features, shift, window)[0]
