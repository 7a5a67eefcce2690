"""``make bench-kfac``: an exact KFAC fit against peers, the machine's matrix product, one gradient and ourselves at other
sizes.

Three tables in one run on this machine, written to results/bench/kfac.csv:
    1. seconds and extra memory of a fit on each workload against every peer (``benchmarks.kfac_peers``), all taking turns
       (``benchmarks.kfac_turns``), and GFLOP/s reached on the optimised operation count (``benchmarks.kfac_flops``) against
       the peak of matrix products right before
    2. the differentiable path: the gradient of log det in a six-parameter hyperparameter of the input against the plain fit
    3. a fit and a hyperparameter gradient at N = 1,000 and N = 50,000: memory flat, time linear
Peers whose factors are another approximation (backpack on convolutions) are shown without a goal.
"""

import argparse
import json
import statistics
import subprocess
import sys
from functools import partial

import torch

from benchmarks.comparisons import Comparison, format_comparisons, write_comparisons
from benchmarks.kfac_flops import optimised_flops
from benchmarks.kfac_peers import FORWARD_BACKWARD, OURS, fastest, leanest, prepared_peers
from benchmarks.kfac_turns import PROJECT, FitResult, measure_in_turn
from benchmarks.kfac_workloads import WORKLOADS
from benchmarks.measuring import describe_machine, measure_sgemm

SPEED_GOAL = 2.0  # times the fastest exact peer
MEMORY_GOAL = 1 / 1.5  # of the leanest exact peer's
PEAK_GOAL = 0.6  # of the sgemm peak, on the optimised operation count
INEXACT = {("cnn", "backpack"), ("ella", "backpack"), ("cnn", "laplace-torch + backpack")}


def compare_workload(workload: str, repeats: int, threads: int) -> list[Comparison]:
    title = f"{WORKLOADS[workload].description}, N={WORKLOADS[workload].samples}"
    implementations = [OURS, *prepared_peers(), FORWARD_BACKWARD]
    ours, *peers, gradient = measure_in_turn(implementations, workload, None, repeats, threads)
    if ours.missing is not None:
        raise RuntimeError(f"our own fit failed: {ours.missing}")
    seconds, memory = ours.median_seconds, ours.extra_memory_bytes
    exact = [peer for peer in peers if (workload, peer.name) not in INEXACT]
    rows = [_against(f"{title}: fit", seconds, peer, workload) for peer in peers]
    best, least = fastest(exact), leanest(exact)
    if best is not None:
        name = f"fastest exact peer ({best.name})"
        rows.append(Comparison(f"{title}: fit", seconds, best.median_seconds, name, "s", SPEED_GOAL))
    if least is not None and memory is not None and least.extra_memory_bytes is not None:
        name = f"leanest exact peer ({least.name}, batch {least.batch_size})"
        rows.append(Comparison(f"{title}: memory", memory / 1e6, least.extra_memory_bytes / 1e6, name, "MB", MEMORY_GOAL))
    rows.append(Comparison(f"{title}: fit", seconds, gradient.median_seconds, gradient.name, "s"))
    peak = statistics.median(ours.sgemm_gflops)
    reached = optimised_flops(workload, WORKLOADS[workload].samples) / statistics.median(ours.seconds) / 1e9
    rows.append(Comparison(f"{title}: arithmetic", reached, peak, "sgemm before each fit", "GFLOP/s", PEAK_GOAL))
    return rows


def _against(work: str, seconds: float | None, peer: FitResult, workload: str) -> Comparison:
    name = peer.name if (workload, peer.name) not in INEXACT else f"{peer.name} (another approximation)"
    if peer.missing is not None:
        name = f"{peer.name}: missing, {peer.missing}"
    return Comparison(work, seconds, peer.median_seconds, name, "s")


def _ask_ourselves(request: dict[str, object]) -> dict[str, float]:
    """One measurement of ``benchmarks.kfac_sizes`` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.kfac_sizes", json.dumps(request)]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, check=True)
    return json.loads(finished.stdout.strip().splitlines()[-1])


def compare_differentiable(threads: int) -> list[Comparison]:
    rows = []
    for workload in ("mlp", "cnn"):
        request = {"workload": workload, "samples": 1000, "threads": threads}
        plain, graph = (_ask_ourselves({**request, "task": task}) for task in ("fit", "gradient"))
        title = f"{WORKLOADS[workload].description}, N=1000: gradient in 6 hyperparameters of the input"
        rows.append(Comparison(title, graph["seconds"], plain["seconds"], "plain fit", "s"))
        rows.append(Comparison(title, graph["megabytes"], plain["megabytes"], "plain fit", "MB"))
    return rows


def compare_sizes(threads: int) -> list[Comparison]:
    """Ours at N = 50,000 beside ours at N = 1,000: 50 times the time, once the memory (a tenth may be noise of the
    allocator)."""
    rows = []
    for task in ("fit", "gradient"):
        request = {"workload": "mlp", "threads": threads, "task": task}
        small, large = (_ask_ourselves({**request, "samples": samples}) for samples in (1_000, 50_000))
        title = f"MLP 784-500-500-10, {task}, N=50,000"
        rows.append(Comparison(title, large["megabytes"], small["megabytes"], "the same at N=1,000", "MB", 0.8))
        rows.append(Comparison(title, large["seconds"] / 50, small["seconds"], "the same at N=1,000", "s per 1,000", 0.7))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare an exact KFAC fit with its peers")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    speeds = measure_sgemm()
    print(f"sgemm: {', '.join(f'{shape} {speed:.0f}' for shape, speed in speeds.items())} GFLOP/s", flush=True)
    machine = describe_machine() | {"sgemm_gflops": max(speeds.values())}
    parts = [partial(compare_workload, workload, options.repeats, options.threads) for workload in options.workloads]
    rows: list[Comparison] = []
    for part in [*parts, partial(compare_differentiable, options.threads), partial(compare_sizes, options.threads)]:
        rows += part()
        path = write_comparisons("kfac", rows, machine)  # after every part: a run that is stopped loses one part at most
        print(format_comparisons(rows), "\n", flush=True)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
