"""Training steps of our EMLP and of a plain MLP of the same width in one process, in turn: the argument is the name of the
step, the answer one line of JSON with the median seconds of both."""

import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn

from benchmarks.emlp_steps import BATCH, CHANNELS, LAYERS, LEARNING_RATE, STEPS, TrainingStep
from emlp_rpp.groups import O
from emlp_rpp.networks import EMLP, MLP
from emlp_rpp.representations import Scalar, T, V
from symlab.trainer.hardware import Hardware


def build(step: TrainingStep) -> dict[str, nn.Module]:
    group = O(step.n)
    rep_in, rep_out = (step.vectors * V + step.scalars * Scalar)(group), T(step.target)(group)
    return {"emlp": EMLP(rep_in, rep_out, CHANNELS, LAYERS), "mlp": MLP(*step.sizes, CHANNELS, LAYERS)}


def training_step(network: nn.Module, step: TrainingStep, batch: int = BATCH) -> Callable[[], float]:
    x, y = (torch.randn(batch, size) for size in step.sizes)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, fused=True)

    def run() -> float:
        optimizer.zero_grad()
        loss = (network(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return run


def main() -> None:
    request = json.loads(sys.argv[1])
    Hardware(threads=request["threads"]).prepare_process()  # as our learners train
    torch.manual_seed(0)
    step = STEPS[request["step"]]
    runs = {name: training_step(network, step) for name, network in build(step).items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for repeat in range(request["repeats"] + 3):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            if repeat >= 3:  # the first ones warm up
                seconds[name].append(time.perf_counter() - started)
    print(json.dumps({name: statistics.median(values) for name, values in seconds.items()}))


if __name__ == "__main__":
    main()
