"""Loops over plain arrays in memory, compiled by numba: for what torch can only say in several passes over memory.

    @compiled
    def add_pairs(rows, out):                   NumPy arrays; results are written into the last ones
        for row in range(len(out)):
            out[row] = rows[2 * row] + rows[2 * row + 1]

    call(add_pairs, rows, out)                  the same with tensors

``compiled_for_threads`` shares the rounds of ``parallel_range`` among as many threads as torch uses.

A loop sees arrays on the CPU and nothing of autograd: it belongs into a function with a derivative of its own, beside the
torch expression that serves everything that is not ``is_plain``. Indices should be unsigned: a signed one is looked at
first, whether it counts from the end.

The machine code is kept next to the source, so that only the first process that calls a loop compiles it.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba
import numpy as np
import torch
from numba.np.ufunc import parallel
from torch import Tensor, nn

numba.config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]  # type: ignore[attr-defined]  # omp: as torch's

parallel_range = numba.prange

Loop = Callable[..., None]

# Sums may be reordered and contracted into fused products, as in torch's own kernels; what is not a number stays one.
_compile: Any = partial(numba.njit, cache=True, nogil=True, fastmath={"contract", "nsz", "reassoc"})


def compiled(loop: Loop) -> Loop:
    return _compile(loop)


def compiled_for_threads(loop: Loop) -> Loop:
    shared = _compile(loop, parallel=True)

    def with_threads(*arrays: np.ndarray) -> None:
        numba.set_num_threads(min(torch.get_num_threads(), _start_threads()))
        shared(*arrays)

    return with_threads


@cache
def _start_threads() -> int:
    """How many there are. Starting them changes the number of torch's, since both use OpenMP: it is set back."""
    threads = torch.get_num_threads()
    parallel._launch_threads()
    torch.set_num_threads(threads)
    return numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def is_plain(*tensors: Tensor) -> bool:
    """Whether a loop can see these: memory of the CPU in float32 or float64, and none of the tensors that stand for several
    (vmap) or for none (meta)."""
    return all(
        type(each) in (Tensor, nn.Parameter)
        and each.device.type == "cpu"
        and each.dtype in (torch.float32, torch.float64)
        and not torch._C._functorch.is_functorch_wrapped_tensor(each)
        for each in tensors
    )


def call(loop: Loop, *arguments: Any) -> None:
    """Tensors are handed over as arrays that share their memory. They should be contiguous: for others a loop is compiled
    anew, and is slower."""
    loop(*(each.detach().numpy() if isinstance(each, Tensor) else each for each in arguments))
