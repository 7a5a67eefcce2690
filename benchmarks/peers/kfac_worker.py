"""What each KFAC peer's script runs: read the request, build the workload, measure, print lines of JSON.

Request (JSON, first argument): workload, samples, threads, batch_sizes.

With several batch sizes the worker only finds the fastest, one fit each, and prints it: batch_size. With a single one its
first full fit is measured for memory (in a process where nothing of that size has run) and is the warm-up of the others. It
prints extra_memory_bytes, batch_size, version, notes, block_traces and then waits: each line that it reads asks for another
fit, answered by its seconds and sgemm_gflops. So whoever asks can let several workers take turns.

``block_traces`` holds tr(A) tr(B) of each weight's GGN block summed over the data, so that a reader can see whether two
implementations computed the same thing. ``sgemm_gflops`` is the speed of the fastest of a few matrix products right before
the fit: the processor's peak at that time.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version

import torch
from torch import Tensor, nn

from benchmarks.kfac_workloads import Batch, build_data, build_network, split_batches
from benchmarks.measuring import measure_extra_memory, measure_seconds, measure_sgemm

Factors = list[tuple[Tensor, Tensor]]
Fit = Callable[[nn.Sequential, list[Batch]], Factors]
"""``fit(network, batches)`` computes all Kronecker factors of the exact GGN and returns (A, B) of each weight, in order of
the layers, scaled so that A x B is the block of the GGN summed over the data."""


def answer_request(fit: Fit, packages: tuple[str, ...], notes: Callable[[str], str] = lambda workload: "") -> None:
    """Entry point of a peer's script. ``packages`` are the distributions whose versions are reported."""
    warnings.filterwarnings("ignore")
    request = json.loads(sys.argv[1])
    torch.set_num_threads(request["threads"])
    # The first fit loads libraries and kernels, no part of a fit's time or memory. On a network of its own: some peers leave
    # their factors on the modules.
    fit(build_network(request["workload"]), split_batches(build_data(request["workload"], 4), 2))
    network = build_network(request["workload"])
    data = build_data(request["workload"], request["samples"])

    sizes = request["batch_sizes"]
    if len(sizes) > 1:
        _tell({"batch_size": _fastest_size(fit, network, data, sizes)})
        return
    batches = split_batches(data, sizes[0])
    factors: Factors = []
    memory = measure_extra_memory(lambda: factors.extend(fit(network, batches)))
    traces = [float(a.trace() * b.trace()) for a, b in factors]
    factors.clear()
    versions = " ".join(f"{package} {version(package)}" for package in packages)
    _tell(
        {
            "extra_memory_bytes": memory,
            "batch_size": sizes[0],
            "version": versions,
            "notes": notes(request["workload"]),
            "block_traces": traces,
        }
    )
    for _ in sys.stdin:
        speed = max(measure_sgemm(repeats=3).values())
        seconds = measure_seconds(lambda: fit(network, batches), repeats=1, warmups=0)[0]
        _tell({"seconds": seconds, "sgemm_gflops": speed})


def _tell(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


def _fastest_size(fit: Fit, network: nn.Sequential, data: Batch, sizes: list[int]) -> int:
    seconds = {}
    for size in sizes:
        batches = split_batches(data, size)
        start = time.perf_counter()
        fit(network, batches)
        seconds[size] = time.perf_counter() - start
    return min(sizes, key=lambda size: seconds[size])
