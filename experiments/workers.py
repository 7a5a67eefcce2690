"""Worker processes that compute runs one after the other, each with its output in the run's own log file.

A worker that dies (killed, out of memory) costs the run it was working on, nothing else: it is replaced. Workers are started
afresh instead of forked, so that no thread or lock of the parent is copied.
"""

import logging
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Literal

from experiments.composition import RunConfig, compose_run
from experiments.errors import one_line
from experiments.run import execute
from symlab.errors import DataError, DependencyError, RunError
from symlab.records import RunDirectory, RunLockedError

Outcome = Literal["finished", "locked", "no data", "not installed", "failed"]


@dataclass(frozen=True)
class Job:
    """One run to compute: its key and the overrides that compose it."""

    key: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    job: Job
    outcome: Outcome
    message: str = ""


def run_job(job: Job, config: RunConfig | None = None) -> Result:
    """Compute one run in this process; ``config`` is its composed configuration where the caller has it."""
    try:
        execute(compose_run(job.overrides) if config is None else config)
    except RunLockedError as error:
        return Result(job, "locked", str(error))
    except Exception as error:  # noqa: BLE001  (one run's failure, of whatever kind, must not end the others)
        message = one_line(error)
        if message is None:
            traceback.print_exc()
            message = f"{type(error).__name__}: {error}"
        else:
            print(f"error: {message}", file=sys.stderr)
        return Result(job, _outcome(error), " ".join(message.split()))
    return Result(job, "finished")


def _outcome(error: Exception) -> Outcome:
    if isinstance(error, DependencyError):
        return "not installed"
    return "no data" if isinstance(error, DataError) else "failed"


def _serve(connection: Connection, runs: str) -> None:
    """The life of a worker: take a job, compute it with output in its log, answer, until told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    # INFO is what a person wants to read in a log; force, because libraries may have set up logging on import.
    logging.basicConfig(format="%(message)s", level=logging.INFO, force=True)
    while True:
        try:
            job = connection.recv()
        except EOFError:  # the parent is gone
            return
        if job is None:
            return
        directory = RunDirectory(runs, job.key)
        try:
            directory.path.mkdir(parents=True, exist_ok=True)
            log = os.open(directory.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            connection.send(Result(job, "failed", f"cannot write {directory.log_path}: {error.strerror}"))
            continue
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        result = run_job(job)
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(result)


class Worker:
    def __init__(self, runs: str):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, runs), daemon=True)
        self.process.start()
        theirs.close()
        self.job: Job | None = None

    def start(self, job: Job) -> None:
        self.job = job
        self.connection.send(job)

    def result(self) -> Result:
        """The answer to the current job; a dead worker's answer is a failure."""
        job = self.job
        assert job is not None
        self.job = None
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode or 0
            cause = f"killed by signal {signal.Signals(-code).name} (out of memory?)" if code < 0 else f"exit code {code}"
            return Result(job, "failed", f"its process ended: {cause}")

    def stop(self, at_once: bool) -> None:
        if not at_once and self.process.is_alive() and self.job is None:
            self.connection.send(None)
        else:
            self.process.terminate()
        self.process.join()
        self.connection.close()


class WorkerPool:
    """At most ``size`` jobs at a time, in the order given."""

    def __init__(self, size: int, runs: str | Path):
        if size < 1:
            raise RunError(f"jobs={size} does not fit: at least one worker is needed")
        self.size, self.runs = size, str(runs)
        self.idle: list[Worker] = []
        self.busy: list[Worker] = []

    @property
    def running(self) -> Sequence[Job]:
        return [worker.job for worker in self.busy if worker.job is not None]

    @property
    def has_room(self) -> bool:
        return len(self.busy) < self.size

    def submit(self, job: Job) -> None:
        worker = self.idle.pop() if self.idle else Worker(self.runs)
        worker.start(job)
        self.busy.append(worker)

    def collect(self, seconds: float) -> list[Result]:
        """Results that have arrived, waiting at most ``seconds`` for the first."""
        if not self.busy:
            time.sleep(seconds)
        ready = wait([worker.connection for worker in self.busy], timeout=seconds)
        results = []
        for worker in [worker for worker in self.busy if worker.connection in ready]:
            results.append(worker.result())
            self.busy.remove(worker)
            if worker.process.is_alive():
                self.idle.append(worker)
            else:
                worker.connection.close()
        return results

    def close(self) -> None:
        for worker in self.idle:
            worker.stop(at_once=False)
        for worker in self.busy:
            worker.stop(at_once=True)
        self.idle, self.busy = [], []
