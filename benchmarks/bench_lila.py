"""``make bench-lila``: one hyperparameter step of LILA (fit, gradient in eta, steps), in CPU seconds over all threads and in
bytes by which memory rises. Written to results/bench/lila.csv.

    MLP 784-1000-10, tanh, N = 1000, S = 31, KFAC-GGN      reference figures 75 CPU seconds, 7.5 GB
    CNN 6@5, 16@3, 120@5, 84, 10, N = 250, S = 31          reference figures 60 CPU seconds, 6.0 GB

The reference figures are known ones of the released code: they were not measured in this run. What is measured beside ours
is the same gradient by one graph through everything (``benchmarks.lila_plain``), on the same data, in the same run: its cost
in float32 on all data, and, where float64 fits into memory, the value that ours must agree with to 1e-4. Others' work on
the same machine makes CPU seconds longer, never shorter: of ``REPEATS`` fresh processes each, the fastest counts.
"""

import argparse
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.comparisons import Comparison, format_comparisons, write_comparisons
from benchmarks.measuring import describe_machine

PROJECT = Path(__file__).resolve().parent.parent
SPEED_GOAL, MEMORY_GOAL, AGREEMENT = 10.0, 5.0, 1e-4
REPEATS = 3
REFERENCE = "released code: a known figure, not measured in this run"


@dataclass(frozen=True)
class Workload:
    title: str
    network: str
    count: int
    exact_count: int  # data points of the comparison in float64
    reference_seconds: float
    reference_megabytes: float


WORKLOADS = {
    "mlp": Workload("MLP 784-1000-10", "mlp", 1000, 60, 75.0, 7500.0),
    "cnn": Workload("CNN 6-16-120-84-10", "cnn", 250, 25, 60.0, 6000.0),
}


def measure(network: str, implementation: str, count: int, threads: int) -> dict[str, Any]:
    """In a fresh process."""
    request = {"network": network, "implementation": implementation, "count": count, "threads": threads}
    command = [sys.executable, "-m", "benchmarks.lila_steps", json.dumps(request)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, check=True)
    return json.loads(finished.stdout.strip().splitlines()[-1])


def fastest(network: str, implementation: str, count: int, threads: int) -> dict[str, Any]:
    """CPU seconds of the fastest of several processes; memory of the one that took most."""
    found = [measure(network, implementation, count, threads) for _ in range(REPEATS)]
    return {"cpu_seconds": min(each["cpu_seconds"] for each in found), "bytes": max(each["bytes"] for each in found)}


def relative_difference(found: list[float], expected: list[float]) -> float:
    return math.dist(found, expected) / math.hypot(*expected)


def compare(workload: Workload, threads: int) -> list[Comparison]:
    network = workload.network
    ours, plain = (fastest(network, each, workload.count, threads) for each in ("ours", "plain"))
    few, exact = (measure(network, each, workload.exact_count, threads)["gradient"] for each in ("ours", "exact"))
    work = f"{workload.title}, N={workload.count}, S=31: one hyperparameter step"
    agreement = f"{workload.title}, N={workload.exact_count}, S=31: difference of gradients in eta"
    peer = "one graph through everything"
    return [
        Comparison(work, ours["cpu_seconds"], workload.reference_seconds, REFERENCE, "CPU s", SPEED_GOAL),
        Comparison(work, ours["bytes"] / 1e6, workload.reference_megabytes, REFERENCE, "MB", MEMORY_GOAL),
        Comparison(work, ours["cpu_seconds"], plain["cpu_seconds"], f"{peer}, gradient alone", "CPU s"),
        Comparison(work, ours["bytes"] / 1e6, plain["bytes"] / 1e6, f"{peer}, gradient alone", "MB"),
        Comparison(
            agreement, relative_difference(few, exact), AGREEMENT, f"bound; against {peer} in float64", "relative", 1.0
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of one hyperparameter step of LILA")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    machine, rows = describe_machine(), []
    for name in options.workloads:
        rows += compare(WORKLOADS[name], options.threads)
        path = write_comparisons("lila", rows, machine)  # after every part: a run that is stopped loses one part at most
        print(format_comparisons(rows), "\n", flush=True)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
