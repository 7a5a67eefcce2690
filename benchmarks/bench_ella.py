"""``make bench-ella``: one marginal-likelihood fit and 20 prior steps of ELLA networks, in CPU seconds over all threads.

Two workloads at 32 x 32 and N = 256, each in processes of its own, written to results/bench/ella.csv:
    CONV, alpha = 10         reference figure 45 CPU seconds
    F-FC+CONV, alpha = 2     reference figure 38 CPU seconds
The reference figures are known ones of the released code, which can no longer be installed: they were not measured in this
run, and the goal is a tenth of them. What is measured beside ours is the same fit written down the straightforward way
(``benchmarks.ella_plain``); both must end at the same marginal likelihood.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.comparisons import Comparison, format_comparisons, write_comparisons
from benchmarks.measuring import describe_machine

PROJECT = Path(__file__).resolve().parent.parent
SPEED_GOAL = 10.0  # times less than the reference figure
SAMPLES = 256
AGREEMENT = 1e-3  # relative, between two float32 fits


@dataclass(frozen=True)
class Workload:
    title: str
    model: str  # of conf/model
    alpha: int
    reference_seconds: float


WORKLOADS = {
    "conv": Workload("CONV, alpha = 10", "ella_conv", 10, 45.0),
    "f_fc_conv": Workload("F-FC+CONV, alpha = 2", "ella_f_fc_conv", 2, 38.0),
}


def measure(workload: Workload, implementation: str, threads: int, repeats: int) -> dict[str, float]:
    """In a fresh process."""
    request: dict[str, Any] = {"model": workload.model, "alpha": workload.alpha, "samples": SAMPLES}
    request |= {"implementation": implementation, "threads": threads, "repeats": repeats}
    command = [sys.executable, "-m", "benchmarks.ella_fits", json.dumps(request)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, check=True)
    return json.loads(finished.stdout.strip().splitlines()[-1])


def compare(workload: Workload, threads: int, repeats: int) -> list[Comparison]:
    ours, plain = measure(workload, "ours", threads, repeats), measure(workload, "plain", threads, 1)
    if abs(ours["value"] - plain["value"]) > AGREEMENT * abs(plain["value"]):
        raise RuntimeError(f"{workload.title}: our fit ends at {ours['value']}, the straightforward one at {plain['value']}")
    work = f"{workload.title}, N={SAMPLES}: fit + 20 prior steps"
    reference = "released code: a known figure, not measured in this run"
    return [
        Comparison(work, ours["cpu_seconds"], workload.reference_seconds, reference, "CPU s", SPEED_GOAL),
        Comparison(work, ours["cpu_seconds"], plain["cpu_seconds"], "straightforward", "CPU s"),
        Comparison(f"{work}, first time", ours["first_cpu_seconds"], plain["cpu_seconds"], "straightforward", "CPU s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of a marginal-likelihood fit and 20 prior steps")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    machine, rows = describe_machine(), []
    for name in options.workloads:
        rows += compare(WORKLOADS[name], options.threads, options.repeats)
        path = write_comparisons("ella", rows, machine)  # after every part: a run that is stopped loses one part at most
        print(format_comparisons(rows), "\n", flush=True)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
