"""The IDX format of MNIST: two zero bytes, a type byte (8 = uint8), the number of dimensions, big-endian sizes, data."""

import math
import struct

import numpy as np
import torch
from torch import Tensor

from symlab.errors import DataError

_UINT8 = 0x08


def parse_idx(data: bytes, name: str) -> Tensor:
    """uint8 tensor of the shape the header says; ``name`` is for the error message."""
    if len(data) < 4 or data[0] or data[1] or data[2] != _UINT8:
        raise DataError(f"{name} is not an IDX file of unsigned bytes: delete it to fetch it again")
    n_dimensions = data[3]
    start = 4 + 4 * n_dimensions
    shape = struct.unpack(f">{n_dimensions}I", data[4:start]) if len(data) >= start else ()
    if not shape or len(data) - start != math.prod(shape):
        raise DataError(f"{name} has {len(data)} bytes, which does not fit its header: delete it to fetch it again")
    return torch.from_numpy(np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape).copy())


def write_idx(values: Tensor) -> bytes:
    """The inverse, for a uint8 tensor."""
    header = bytes([0, 0, _UINT8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return header + values.contiguous().numpy().tobytes()
