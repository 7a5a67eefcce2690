"""Convolutions as a subspace of the dense layers between two maps (thesis, Eq. 3.2: bi-Toeplitz matrices).

    W[(c', q), (c, p)] = sum of w(c', c, l) over the offsets l with p = stride q + l - padding

    padding "circular"   positions modulo the size of the map
            "zero"       offsets that leave the map have no entry of W

Each entry of W is at most one entry of the kernel, so the columns of T are orthogonal and m(c', c, l) is the number of
outputs q whose offset l is on the map. Layout: (..., C, H, W) -> (..., C', H', W') with H' = ceil(H / stride).
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from emlp_rpp.errors import InputSizeError
from symlab.errors import ConfigError

Padding = Literal["zero", "circular"]


class Convolution(nn.Module):
    """With an odd kernel, padded by half of it. ``shape_in``: (C, H, W)."""

    def __init__(
        self,
        shape_in: tuple[int, int, int],
        channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        padding: Padding = "zero",
    ):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.shape_in = tuple(shape_in)
        check_geometry(self.shape_in, kernel_size, stride, padding)
        _, height, width = self.shape_in
        self.shape_out = (channels, -(-height // stride), -(-width // stride))
        self.weight = nn.Parameter(torch.empty(channels, self.shape_in[0], kernel_size, kernel_size))
        self.bias = nn.Parameter(torch.empty(channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As nn.Conv2d starts."""
        bound = (self.shape_in[0] * self.kernel_size**2) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        if tuple(x.shape[-3:]) != self.shape_in:
            raise InputSizeError(f"an input of shape {tuple(x.shape)} does not fit: (..., {self.shape_in}) is needed")
        return convolve(x, self.weight, self.bias, self.stride, self.padding)

    def dense(self) -> tuple[Tensor, Tensor]:
        weight = dense_kernel(self.weight, self.shape_in, self.stride, self.padding)
        return weight, self.bias.repeat_interleave(self.shape_out[1] * self.shape_out[2])

    def multiplicities(self) -> dict[str, Tensor]:
        _, height, width = self.shape_in
        down = used_offsets(height, self.kernel_size, self.stride, self.padding)
        right = used_offsets(width, self.kernel_size, self.stride, self.padding)
        return {
            "weight": (down[:, None] * right[None, :]).to(self.weight),
            "bias": torch.tensor(float(self.shape_out[1] * self.shape_out[2])),
        }


def check_geometry(shape_in: tuple[int, ...], kernel_size: int, stride: int, padding: str) -> None:
    if len(shape_in) != 3 or kernel_size < 1 or kernel_size % 2 == 0 or stride < 1:
        raise ConfigError(
            f"a kernel of {kernel_size} at stride {stride} on {shape_in} does not fit: an odd kernel, a positive stride and "
            "maps (C, H, W) are needed"
        )
    if padding not in ("zero", "circular"):
        raise ConfigError(f"padding={padding!r} does not fit: zero or circular")
    if padding == "circular" and kernel_size > min(shape_in[1:]):
        raise ConfigError(
            f"a circular kernel of {kernel_size} on maps of {shape_in[1]} x {shape_in[2]} meets itself: take a smaller one"
        )


def convolve(x: Tensor, kernel: Tensor, bias: Tensor | None, stride: int, padding: Padding) -> Tensor:
    """(..., C, H, W) -> (..., C', H', W')."""
    half = kernel.shape[-1] // 2
    images = x.reshape(-1, *x.shape[-3:])
    if padding == "circular" and half:
        images = functional.pad(images, (half,) * 4, mode="circular")
    margin = half if padding == "zero" else 0
    y = functional.conv2d(images, kernel, bias, stride=stride, padding=margin)
    return y if x.ndim == 4 else y.reshape(*x.shape[:-3], *y.shape[1:])


def dense_kernel(kernel: Tensor, shape_in: tuple[int, ...], stride: int, padding: Padding) -> Tensor:
    """W (size_out, size_in): the images of all unit vectors, for small maps."""
    size = shape_in[0] * shape_in[1] * shape_in[2]
    units = torch.eye(size, dtype=kernel.dtype, device=kernel.device).view(size, *shape_in)
    images = convolve(units, kernel, None, stride, padding)
    return images.flatten(1).mT


def used_offsets(extent: int, kernel_size: int, stride: int, padding: str) -> Tensor:
    """For each offset l the number of outputs q with stride q + l - padding on the map, along one axis."""
    positions = torch.arange(0, extent, stride, device="cpu")
    if padding == "circular":
        return torch.full((kernel_size,), float(len(positions)), device="cpu")
    reached = positions[:, None] + torch.arange(kernel_size, device="cpu") - kernel_size // 2
    return ((reached >= 0) & (reached < extent)).sum(0).float()
