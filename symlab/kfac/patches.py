"""The Gram matrix of all patches of a feature map, from its autocorrelation.

For a convolution of stride 1 the entry of the patch Gram matrix between kernel pixels i and j depends on their distance
alone, as long as the sum goes over all positions of a map that continues periodically or with zeros:

    A[(c, i), (c', j)] = sum_p x_c(p + i) x_c'(p + j) = K(j - i)[c, c'],     K(l)[c, c'] = sum_q x_c(q) x_c'(q + l).

A k x k kernel has (2k - 1)^2 distances, and K(-l) = K(l)^T halves them: 13 products C x C instead of 81 for k = 3. With
circular padding this is exact. With zero padding the sum also contains positions just outside the output; their patches
touch the map in a few rows or columns only and are subtracted line by line.

Layout: x (N, C, H, W); A (C k k, C k k) in the order of nn.functional.unfold, channel first.
"""

import torch
from torch import Tensor, nn
from torch.nn.grad import conv2d_weight

from symlab.kfac.grams import accumulate_gram, mirror

# Below this width a product C x C is slower than the weight gradient of a convolution with itself, which has all distances
# at once.
FEW_CHANNELS = 16


def padding_of(module: nn.Conv2d) -> tuple[int, int, int, int]:
    """(left, right, top, bottom), as nn.functional.pad takes it."""
    if isinstance(module.padding, str):
        left, right, top, bottom = module._reversed_padding_repeated_twice
        return left, right, top, bottom
    vertical, horizontal = module.padding
    return horizontal, horizontal, vertical, vertical


def pad_like(module: nn.Conv2d, images: Tensor) -> Tensor:
    """The images as the convolution sees them, in its own padding mode."""
    padding = padding_of(module)
    if not any(padding):
        return images
    mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
    return nn.functional.pad(images, padding, mode=mode)


def has_patch_gram(module: nn.Conv2d, images: Tensor) -> bool:
    """Whether ``patch_gram`` applies to this convolution and this size of map."""
    height, width = module.kernel_size
    left, right, top, bottom = padding_of(module)
    if set(module.stride) | set(module.dilation) | {module.groups} != {1} or left != right or top != bottom:
        return False
    if module.padding_mode == "circular":
        return (top, left) == ((height - 1) // 2, (width - 1) // 2) and height % 2 == width % 2 == 1
    fits = images.shape[2] >= height - 1 and images.shape[3] >= width - 1
    return module.padding_mode == "zeros" and fits and top < height and left < width


def patch_gram(module: nn.Conv2d, images: Tensor) -> Tensor:
    """sum over data points and positions of patch patch^T: (1, 1, D, D)."""
    height, width = module.kernel_size
    channels = images.shape[1]
    circular = module.padding_mode == "circular"
    table = _autocorrelation(images, height, width, circular)
    row, column = torch.arange(height), torch.arange(width)
    vertical = row[None, :] - row[:, None] + height - 1  # j - i, shifted to count from 0
    horizontal = column[None, :] - column[:, None] + width - 1
    blocks = table[vertical[:, None, :, None], horizontal[None, :, None, :]]  # (i_y, i_x, j_y, j_x, c, c')
    gram = blocks.permute(4, 0, 1, 5, 2, 3).contiguous()
    if not circular:
        _subtract_outside(gram, images, *padding_of(module)[1:3])
    return gram.view(1, 1, channels * height * width, -1)


def _autocorrelation(images: Tensor, height: int, width: int, circular: bool) -> Tensor:
    """K(l) for |l_y| < height, |l_x| < width: (2 height - 1, 2 width - 1, C, C)."""
    _samples, channels, rows, columns = images.shape
    reach = (width - 1, width - 1, height - 1, height - 1)
    large = rows >= height - 1 and columns >= width - 1
    if channels < FEW_CHANNELS and height * width > 1 and large:
        padded = nn.functional.pad(images, reach, mode="circular" if circular else "constant")
        shape = (channels, channels, 2 * height - 1, 2 * width - 1)
        return conv2d_weight(padded, shape, images).permute(2, 3, 0, 1)
    pixels = images.permute(0, 2, 3, 1).contiguous()
    matrix = pixels.view(-1, channels)
    extended = None if circular else nn.functional.pad(pixels, (0, 0, *reach))
    table = images.new_empty(2 * height - 1, 2 * width - 1, channels, channels)
    known: dict[tuple[int, int], Tensor] = {}  # on a small periodic map several distances are the same
    for down in range(height):
        for right in range(-(width - 1) if down else 0, width):
            place = (down % rows, right % columns) if circular else (down, right)
            if place not in known:
                if extended is None:
                    moved = torch.roll(pixels, (-down, -right), (1, 2))
                else:
                    top, left = height - 1 + down, width - 1 + right
                    moved = extended[:, top : top + rows, left : left + columns]
                known[place] = matrix.mT @ moved.reshape(-1, channels)
            table[height - 1 + down, width - 1 + right] = known[place]
            table[height - 1 - down, width - 1 - right] = known[place].mT
    return table


def _subtract_outside(gram: Tensor, images: Tensor, horizontal: int, vertical: int) -> None:
    """Take the positions outside the output of a zero-padded convolution out of ``gram`` (C, k_y, k_x, C, k_y, k_x)."""
    height, width = gram.shape[1:3]
    for line in range(1, height - vertical):  # lines above and below, over their whole width
        reach = height - vertical - line  # rows of the map that the kernel still touches
        low, high = images[:, :, :reach], images[:, :, -reach:]
        gram[:, height - reach :, :, :, height - reach :] -= _strip_gram(low, (reach, width), (0, width - 1))
        gram[:, :reach, :, :, :reach] -= _strip_gram(high, (reach, width), (0, width - 1))
    for line in range(1, width - horizontal):  # columns left and right, beside the output
        reach = width - horizontal - line
        low, high = images[:, :, :, :reach], images[:, :, :, -reach:]
        gram[:, :, width - reach :, :, :, width - reach :] -= _strip_gram(low, (height, reach), (vertical, 0))
        gram[:, :, :reach, :, :, :reach] -= _strip_gram(high, (height, reach), (vertical, 0))


def _strip_gram(strip: Tensor, kernel: tuple[int, int], padding: tuple[int, int]) -> Tensor:
    rows = nn.functional.unfold(strip, kernel, padding=padding).transpose(1, 2).flatten(0, 1)
    total = strip.new_zeros(1, 1, rows.shape[1], rows.shape[1])
    accumulate_gram(total, rows[None, None, None])
    mirror(total)
    channels = strip.shape[1]
    return total.view(channels, *kernel, channels, *kernel)
