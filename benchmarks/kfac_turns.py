"""KFAC implementations taking turns: each in a process of its own, one fit at a time, round after round.

The speed of a shared machine changes by up to twice within minutes. What is compared must meet the same changes, so every
implementation is started first and then all of them fit once in every round; of each the median over the rounds counts.
Waiting processes sleep. ``benchmarks.peers.kfac_worker`` is the other end.

Every measurement takes two processes: one finds the fastest of a few batch sizes on part of the data, one measures memory
and time with it. An implementation that fails or takes too long is returned with the reason.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from benchmarks.kfac_workloads import WORKLOADS

PROJECT = Path(__file__).resolve().parent.parent
BATCH_SIZES = (50, 100, 250, 500)
SELECTION_SAMPLES = 500  # a multiple of each batch size
TIMEOUT_SECONDS = 900


@dataclass(frozen=True)
class Implementation:
    """``script`` is a module of ``benchmarks.peers`` run by ``python``; ``missing``: why it cannot be."""

    name: str
    script: str
    python: str = sys.executable
    missing: str | None = None


@dataclass(frozen=True)
class FitResult:
    """What was measured, or ``missing``: why nothing was. Of a round the seconds, and the speed of matrix products right
    before."""

    name: str
    workload: str
    samples: int
    seconds: tuple[float, ...] = ()
    sgemm_gflops: tuple[float, ...] = ()
    extra_memory_bytes: int | None = None
    batch_size: int | None = None
    version: str = ""
    notes: str = ""
    block_traces: tuple[float, ...] = field(default=(), repr=False)
    missing: str | None = None

    @property
    def median_seconds(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None


class WorkerFailedError(Exception):
    """A worker ended without an answer; the message is its last line of error output."""


class Worker:
    """A running ``benchmarks.peers.kfac_worker``."""

    def __init__(self, implementation: Implementation, request: dict[str, Any]):
        threads = str(request["threads"])
        variables = {"PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        command = [implementation.python, "-m", f"benchmarks.peers.{implementation.script}", json.dumps(request)]
        self.errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the worker
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=PROJECT,
            env=os.environ | variables,
        )

    def answer(self) -> dict[str, Any]:
        """The next line of JSON; peers may print others."""
        assert self.process.stdout is not None
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            self.process.kill()

        limit = threading.Timer(TIMEOUT_SECONDS, give_up)
        limit.start()
        try:
            for line in self.process.stdout:
                if line.startswith("{"):
                    return json.loads(line)
        finally:
            limit.cancel()
        self.process.wait()
        if is_late.is_set():
            raise WorkerFailedError(f"no answer within {TIMEOUT_SECONDS} s")
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines() or [f"exit status {self.process.returncode}"]
        raise WorkerFailedError(lines[-1])

    def fit(self) -> tuple[float, float]:
        """Seconds of one more fit, and the speed of a matrix product before it."""
        assert self.process.stdin is not None
        print("fit", file=self.process.stdin, flush=True)
        answer = self.answer()
        return answer["seconds"], answer["sgemm_gflops"]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()


def measure_in_turn(
    implementations: Sequence[Implementation],
    workload: str,
    samples: int | None = None,
    repeats: int = 5,
    threads: int = 2,
    batch_sizes: Sequence[int] = BATCH_SIZES,
) -> list[FitResult]:
    """One result for each implementation, in order. ``samples`` defaults to the workload's N."""
    samples = samples or WORKLOADS[workload].samples
    request = {"workload": workload, "threads": threads}
    workers: dict[str, Worker] = {}
    about: dict[str, dict[str, Any]] = {}
    missing = {each.name: each.missing for each in implementations if each.missing is not None}
    rounds: dict[str, list[tuple[float, float]]] = {}
    try:
        for each in implementations:
            if each.name in missing:
                continue
            try:
                size = _best_batch_size(each, request, samples, batch_sizes)
                workers[each.name] = Worker(each, {**request, "samples": samples, "batch_sizes": [size]})
                about[each.name] = workers[each.name].answer()
                rounds[each.name] = []
            except WorkerFailedError as error:
                missing[each.name] = str(error)
        for _ in range(repeats):
            for name, found in rounds.items():
                found.append(workers[name].fit())
    finally:
        for worker in workers.values():
            worker.close()
    return [_result(each.name, workload, samples, missing, about, rounds) for each in implementations]


def _best_batch_size(
    implementation: Implementation, request: dict[str, Any], samples: int, batch_sizes: Sequence[int]
) -> int:
    if len(batch_sizes) == 1:
        return batch_sizes[0]
    part = min(samples, SELECTION_SAMPLES)
    worker = Worker(implementation, {**request, "samples": part, "batch_sizes": list(batch_sizes)})
    try:
        return worker.answer()["batch_size"]
    finally:
        worker.close()


def _result(
    name: str,
    workload: str,
    samples: int,
    missing: dict[str, str],
    about: dict[str, dict[str, Any]],
    rounds: dict[str, list[tuple[float, float]]],
) -> FitResult:
    if name in missing:
        return FitResult(name, workload, samples, missing=missing[name])
    seconds, speeds = zip(*rounds[name], strict=True)
    known = about[name]
    return FitResult(
        name,
        workload,
        samples,
        seconds,
        speeds,
        known["extra_memory_bytes"],
        known["batch_size"],
        known["version"],
        known["notes"],
        tuple(known["block_traces"]),
    )
