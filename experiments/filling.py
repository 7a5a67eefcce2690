"""Filling a table: compute the runs that have no record, render after each one, say how long it will take."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from experiments.launching import launch
from experiments.progress import TableProgress
from experiments.run import build
from experiments.table_output import TableOutput
from experiments.table_runs import TableRuns
from experiments.tabulation.measurement import Measurement
from experiments.tracking import Tracking
from experiments.workers import Job, Result, WorkerPool
from symlab.records import RunDirectory

POLL_SECONDS = 0.5


class Filling:
    def __init__(self, runs: TableRuns, output: TableOutput):
        self.runs, self.output = runs, output
        self.records = runs.records()
        self.failures: dict[str, Measurement] = {}
        self.not_installed: set[str] = set()  # of the failures, those that an extra would mend
        self.started: dict[str, float] = {}
        self.tracking: Tracking | None = None  # set when runs are started
        self.render()

    @property
    def unfinished(self) -> list[str]:
        return [key for key in self.runs.runs if key not in self.records and key not in self.failures]

    def with_workers(self, jobs: int) -> None:
        """Compute the missing runs in our own processes. A run that another process has is waited for, not repeated."""
        waiting = deque(self._jobs())
        if not waiting:
            return
        pool = WorkerPool(min(jobs, len(waiting)), self.runs.directory)
        taken: dict[str, Job] = {}  # being computed by other processes
        progress = self._progress()
        try:
            while waiting or pool.busy or taken:
                self._take_back(taken, waiting)
                while waiting and pool.has_room:
                    job = waiting.popleft()
                    self.started[job.key] = time.monotonic()
                    pool.submit(job)
                for result in pool.collect(POLL_SECONDS):
                    if result.outcome == "locked":
                        taken[result.job.key] = result.job
                    else:
                        self._finish(result, progress)
                progress.tick([job.key for job in pool.running], list(taken), self._seconds_left(pool.running, jobs))
        finally:
            pool.close()
            progress.close()

    def through_launcher(self, launcher: Sequence[str]) -> None:
        """Compute the missing runs through one of Hydra's launchers; the table is rendered as records appear."""
        jobs = self._jobs()
        if not jobs:
            return
        ended = threading.Event()

        def render_new_records() -> None:
            while not ended.wait(POLL_SECONDS):
                if len(found := self.runs.records()) > len(self.records):
                    self.records = found
                    self.render()

        watcher = threading.Thread(target=render_new_records)
        watcher.start()
        try:
            results = launch(jobs, launcher)
        finally:
            ended.set()
            watcher.join()
        progress = self._progress()
        for result in results:
            self._finish(result, progress)
        progress.close()

    def render(self) -> None:
        self.output.write(self.runs.measurements(self.records, self.failures, frozenset(self.started)), self.records)

    def show(self) -> None:
        measurements = self.runs.measurements(self.records, self.failures)
        self.output.draw(measurements, self.records)
        self.output.show(measurements, self.records)
        if self.tracking is not None:
            self.output.track(self.tracking, measurements)

    def _jobs(self) -> list[Job]:
        """The missing runs; that tracking cannot go online is found out once, here, instead of in every worker."""
        jobs = [self.runs.runs[key].job for key in self.unfinished]
        if not jobs:
            return []
        self.tracking = build(self.runs.runs[jobs[0].key].config.groups["tracking"]).reachable()
        return [replace(job, overrides=(*job.overrides, f"tracking.mode='{self.tracking.mode}'")) for job in jobs]

    def _take_back(self, taken: dict[str, Job], waiting: deque[Job]) -> None:
        """Runs of other processes: take over their records, and their work where the owner is gone."""
        for key in list(taken):
            directory = RunDirectory(self.runs.directory, key)
            record = directory.record()
            if record is not None:
                self.records[key] = record
                del taken[key]
                self.render()
            elif not directory.is_locked():
                waiting.append(taken.pop(key))

    def _finish(self, result: Result, progress: TableProgress) -> None:
        key = result.job.key
        run, directory = self.runs.runs[key], RunDirectory(self.runs.directory, key)
        record = directory.record()
        if record is not None:
            self.records[key] = record
            progress.say(f"[{len(self.records)}/{len(self.runs.runs)}] {run.label}: {record['seconds']:.1f} s")
        else:
            state = Measurement.missing if result.outcome in ("no data", "not installed") else Measurement.failed
            if result.outcome == "not installed":
                self.not_installed.add(key)
            self.failures[key] = state(f"{result.message} (log: {directory.log_path})")
            word = "MISSING" if result.outcome == "not installed" else "FAILED"
            progress.say(f"{word} {run.label}: {self.failures[key].reason}")
        self.render()

    def _progress(self) -> TableProgress:
        return TableProgress(
            self.runs.table.id, len(self.runs.runs), len(self.records), lambda key: self.runs.runs[key].label
        )

    def _seconds_left(self, running: Sequence[Job], jobs: int) -> float | None:
        """From what finished runs of the same column took, and from how far the running ones are."""
        expected = self._expected_seconds(running)
        if expected is None:
            return None
        now, left = time.monotonic(), 0.0
        busy = {job.key for job in running}
        for key in self.unfinished:
            spent = now - self.started[key] if key in busy else 0.0
            left += max(0.0, expected(key) - spent)
        return left / jobs

    def _expected_seconds(self, running: Sequence[Job]) -> Callable[[str], float] | None:
        known: dict[str, list[float]] = {}
        for key, record in self.records.items():
            known.setdefault(self.runs.runs[key].column, []).append(record["seconds"])
        for job in running:
            run = self.runs.runs[job.key]
            lines = RunDirectory(self.runs.directory, job.key).metrics()
            if lines:
                share = (lines[-1]["epoch"] + 1) / run.config.groups["trainer"]["epochs"]
                known.setdefault(run.column, []).append((time.monotonic() - self.started[job.key]) / share)
        if not known:
            return None
        overall = fmean(fmean(values) for values in known.values())
        return lambda key: fmean(known.get(self.runs.runs[key].column, [overall]))
