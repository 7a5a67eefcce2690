"""What each KFAC peer's script runs: read the request, build the workload, measure, print one line of JSON.

Request (JSON, first argument): workload, samples, repeats, threads, batch_sizes.
Answer (JSON, last line of the output): seconds (one for each repeat), extra_memory_bytes, batch_size, version, notes,
block_traces, sgemm_gflops.

With several batch sizes the worker only finds the fastest: one fit each, ``seconds`` has one entry for each size. With a
single one the first full fit is measured for memory (in a process where nothing of that size has run) and is the warm-up of
the timed repeats. ``block_traces`` holds tr(A) tr(B) of each weight's GGN block summed over the data, so that a reader can
see whether two implementations computed the same thing. ``sgemm_gflops`` is the lower of the speeds of one matrix product
before and after the repeats: far below the machine's peak, the processor was shared and the seconds mean little.
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
        answer = _compare_sizes(fit, network, data, sizes)
    else:
        answer = _measure(fit, network, data, sizes[0], request["repeats"])
    answer["version"] = " ".join(f"{package} {version(package)}" for package in packages)
    answer["notes"] = notes(request["workload"])
    print(json.dumps(answer))


def _compare_sizes(fit: Fit, network: nn.Sequential, data: Batch, sizes: list[int]) -> dict[str, object]:
    seconds = []
    for size in sizes:
        batches = split_batches(data, size)
        start = time.perf_counter()
        fit(network, batches)
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "batch_size": sizes[seconds.index(min(seconds))]}


def _measure(fit: Fit, network: nn.Sequential, data: Batch, size: int, repeats: int) -> dict[str, object]:
    batches = split_batches(data, size)
    factors: Factors = []
    memory = measure_extra_memory(lambda: factors.extend(fit(network, batches)))
    traces = [float(a.trace() * b.trace()) for a, b in factors]
    factors.clear()
    speeds = [_sgemm_gflops()]
    seconds = measure_seconds(lambda: fit(network, batches), repeats, warmups=0)
    speeds.append(_sgemm_gflops())
    return {
        "seconds": seconds,
        "extra_memory_bytes": memory,
        "batch_size": size,
        "block_traces": traces,
        "sgemm_gflops": min(speeds),
    }


def _sgemm_gflops() -> float:
    return max(measure_sgemm([(1024, 1024, 1024)], repeats=3).values())
