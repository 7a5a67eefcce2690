import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.func import vmap

from symlab.compiled import call, compiled, compiled_for_threads, is_plain, parallel_range


@compiled
def add_rows(matrix: np.ndarray, total: np.ndarray) -> None:
    total[:] = 0
    for row in range(len(matrix)):
        for column in range(matrix.shape[1]):
            total[column] += matrix[row, column]


@compiled_for_threads
def double(entries: np.ndarray, doubled: np.ndarray) -> None:
    for index in parallel_range(len(entries)):
        doubled[index] = 2 * entries[index]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_share_their_memory_with_the_loop(dtype):
    matrix = torch.arange(12, dtype=dtype).view(3, 4).requires_grad_()
    total = torch.empty(4, dtype=dtype)
    call(add_rows, matrix, total)
    assert total.tolist() == [12, 15, 18, 21]


def test_every_round_of_a_parallel_loop_is_made():
    entries, doubled = torch.randn(1001), torch.empty(1001)
    call(double, entries, doubled)
    assert torch.equal(doubled, 2 * entries)


def test_threads_of_torch_stay_as_many_as_they_were():
    """Starting numba's threads sets the number of OpenMP's, which is torch's too."""
    program = (
        "import torch\nfrom tests.symlab.test_compiled import call, double\ntorch.set_num_threads(1)\n"
        "call(double, torch.ones(5), torch.ones(5))\nprint(torch.get_num_threads())"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "1"


def test_what_a_loop_can_see():
    assert is_plain(torch.ones(2), torch.nn.Parameter(torch.ones(2, dtype=torch.float64)))
    assert not is_plain(torch.ones(2), torch.ones(2, dtype=torch.bfloat16))
    assert not is_plain(torch.ones(2, device="meta"))
    seen = []
    vmap(lambda each: (seen.append(is_plain(each)), each)[1])(torch.ones(3, 2))
    assert seen == [False]
