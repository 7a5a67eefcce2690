"""``make bench-invariant-weights``: one training step of an invariant network with S = 32 transformations, batches of 128
and 1024 units, against naive resampling of the weights measured in the same run (results/bench/invariant_weights.csv).

Both steps see the same draws; beside the times stands how far their gradients in eta are apart. Steps of the two are timed
in turn, and the median of each is reported, so that other work on the machine hits both alike.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.comparisons import Comparison, format_comparisons, write_comparisons
from benchmarks.invariant_weights_steps import PlainStep, build, relative_difference
from benchmarks.measuring import describe_machine

GOAL, AGREEMENT = 3.0, 1e-3
TITLES = {"rff": "RFF network (first layer fixed)", "relu": "ReLU network (first layer learned)"}


def medians_in_turn(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """Median CPU seconds (over all threads) of each call, after one call each to warm up."""
    seconds: list[list[float]] = [[] for _ in calls]
    for repeat in range(repeats + 1):
        for call, found in zip(calls, seconds, strict=True):
            started = time.process_time()
            call()
            if repeat:
                found.append(time.process_time() - started)
    return [statistics.median(found) for found in seconds]


def compare(kind: str, batch_size: int, units: int, samples: int, repeats: int) -> list[Comparison]:
    learner, batch = build(kind, batch_size, units, samples)
    plain = PlainStep(learner)
    plain.loss(batch, 0).backward()
    likelihood, divergence, _ = learner.bound(batch.inputs, batch.targets, ("step", 0))
    (divergence / learner.plan.train_size - likelihood).backward()
    ours, theirs = learner.model.transformations.eta.grad, plain.eta.grad
    assert ours is not None
    assert theirs is not None
    difference = relative_difference(ours, theirs.double())
    fast, naive = medians_in_turn([lambda: learner.step(batch), lambda: plain.step(batch, 0)], repeats)
    work = f"{TITLES[kind]}, S={samples}, batch {batch_size}, {units} units: one step"
    peer = "naive resampling of the weights"
    return [
        Comparison(work, 1e3 * fast, 1e3 * naive, peer, "CPU ms", GOAL),
        Comparison(
            f"{work}, difference of gradients in eta", difference, AGREEMENT, f"bound; against {peer}", "relative", 1.0
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of one step of an invariant network")
    parser.add_argument("networks", nargs="*", default=list(TITLES), help=f"of {', '.join(TITLES)}")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    machine, rows = describe_machine(), []
    for kind in options.networks:
        rows += compare(kind, 128, 1024, 32, options.repeats)
        path = write_comparisons("invariant_weights", rows, machine)
        print(format_comparisons(rows), "\n", flush=True)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
