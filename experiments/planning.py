"""What a table would cost: parameters, memory and hours of each run, from a few measured steps on this device.

Each run is probed in a process of its own, so that its peak memory is its own. Nothing is stored.
"""

import multiprocessing
import time
from dataclasses import dataclass
from itertools import islice

from experiments.errors import one_line
from experiments.table_runs import TableRuns
from symlab.records.environment import peak_memory_bytes

PROBED_STEPS = 3


@dataclass(frozen=True)
class Probe:
    """One run's cost; ``problem`` says why it could not be probed."""

    label: str
    parameters: int = 0
    memory_bytes: int = 0
    hours: float = 0.0
    problem: str = ""


def probe(overrides: tuple[str, ...], label: str) -> Probe:
    """Build the run in this process and time a few steps (the first one warms up)."""
    from experiments.composition import compose_run
    from experiments.run import build, build_learner
    from symlab.trainer.batches import epoch_batches
    from symlab.trainer.protocol import Batch

    try:
        config = compose_run(overrides)
        hardware, training = build(config.groups["hardware"]), build(config.groups["trainer"])
        device = hardware.prepare_process()
        data = build(config.groups["data"]).to(device)
        learner = build_learner(config, data, hardware)
        plan = training.plan(data)
        seconds = []
        batches = epoch_batches(data, plan.batch_size, training.augmentation, config.seed, epoch=0)
        for batch in islice(batches, PROBED_STEPS):
            started = time.perf_counter()
            with hardware.autocast():
                learner.step(Batch(hardware.prepare_inputs(batch.inputs), batch.targets))
            seconds.append(time.perf_counter() - started)
        started = time.perf_counter()
        with hardware.autocast():
            learner.end_epoch(0)
        between = time.perf_counter() - started
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise
        return Probe(label, problem=message)
    total = min(seconds[1:] or seconds) * plan.total_steps + between * plan.epochs
    parameters = sum(parameter.numel() for parameter in learner.model.parameters())
    return Probe(label, parameters, peak_memory_bytes(device), total / 3600)


def plan_table(runs: TableRuns) -> list[Probe]:
    """One probe per distinct configuration; seeds of the same configuration cost the same and share it."""
    probes: dict[str, Probe] = {}
    answers = []
    for run in runs.runs.values():
        scientific = repr({**run.config.scientific, "seed": None})
        if scientific not in probes:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                probes[scientific] = pool.apply(probe, (run.job.overrides, run.label))
        known = probes[scientific]
        answers.append(Probe(run.label, known.parameters, known.memory_bytes, known.hours, known.problem))
    return answers
