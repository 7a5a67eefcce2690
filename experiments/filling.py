"""Filling a table: compute the runs that have no record, render after each one, say how long it will take."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.launching import launch
from experiments.progress import TableProgress, as_duration
from experiments.run import build, command
from experiments.table_runs import TableRuns
from experiments.tabulation.claims import Claim, judge_claims
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.presentation import Context
from experiments.tabulation.render import write_table
from experiments.tabulation.terminal import print_table
from experiments.workers import Job, Result, WorkerPool
from symlab.records import RunDirectory

POLL_SECONDS = 0.5


class Filling:
    def __init__(self, runs: TableRuns, results: Path, extra: Sequence[str]):
        self.runs, self.extra = runs, tuple(extra)
        self.output = results / runs.table.id / runs.scale
        self.records = runs.records()
        self.failures: dict[str, str] = {}
        self.started: dict[str, float] = {}
        self.render()

    @property
    def unfinished(self) -> list[str]:
        return [key for key in self.runs.runs if key not in self.records and key not in self.failures]

    # -- two ways to compute what is missing ---------------------------------------------------------------------------------

    def with_workers(self, jobs: int) -> int:
        """Compute the missing runs in our own processes; returns how many failed."""
        waiting = deque(self.runs.runs[key].job for key in self.unfinished)
        if not waiting:
            return 0
        waiting = deque(self._offline_if_unreachable(job) for job in waiting)
        pool = WorkerPool(min(jobs, len(waiting)), self.runs.directory)
        taken: dict[str, Job] = {}  # being computed by other processes
        with self._progress() as progress:
            try:
                while waiting or pool.busy or taken:
                    self._take_back(taken, waiting)
                    while waiting and pool.has_room:
                        job = waiting.popleft()
                        self.started[job.key] = time.monotonic()
                        pool.submit(job)
                    results = pool.collect(POLL_SECONDS) if pool.busy else []
                    for result in results:
                        if result.outcome == "locked":
                            taken[result.job.key] = result.job
                        else:
                            self._finish(result, progress)
                    if not results and not pool.busy:
                        time.sleep(POLL_SECONDS)
                    progress.tick([job.key for job in pool.running], list(taken), self._seconds_left(pool.running, jobs))
            finally:
                pool.close()
        return len(self.failures)

    def through_launcher(self, launcher: Sequence[str]) -> int:
        """Compute the missing runs through one of Hydra's launchers; the table is rendered as records appear."""
        jobs = [self.runs.runs[key].job for key in self.unfinished]
        if not jobs:
            return 0
        done = threading.Event()

        def watch() -> None:
            while not done.wait(POLL_SECONDS):
                if len(found := self.runs.records()) > len(self.records):
                    self.records = found
                    self.render()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            results = launch(jobs, launcher)
        finally:
            done.set()
            watcher.join()
        with self._progress() as progress:
            for result in results:
                self._finish(result, progress)
        return len(self.failures)

    def _take_back(self, taken: dict[str, Job], waiting: deque[Job]) -> None:
        """Runs of other processes: note their records, and try those whose owner is gone."""
        for key in list(taken):
            directory = RunDirectory(self.runs.directory, key)
            if directory.record_path.exists():
                self.records[key] = directory.record() or {}
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
            self.failures[key] = f"{result.message} (log: {directory.log_path})"
            progress.say(f"FAILED {run.label}: {self.failures[key]}")
        self.render()

    def _offline_if_unreachable(self, job: Job) -> Job:
        """Find out once, here, that tracking cannot go online, instead of once per worker."""
        if not hasattr(self, "_tracking"):
            settings = build(self.runs.runs[job.key].config.groups["tracking"])
            self._tracking = settings.reachable().mode
        return Job(job.key, (*job.overrides, f"tracking.mode='{self._tracking}'"))

    # -- what a person sees --------------------------------------------------------------------------------------------------

    @contextmanager
    def _progress(self) -> Any:
        progress = TableProgress(self.runs.table.id, len(self.runs.runs), len(self.records), self._label)
        try:
            yield progress
        finally:
            progress.close()

    def _label(self, key: str) -> str:
        return self.runs.runs[key].label

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

    def render(self) -> None:
        write_table(self.output, self.runs.table, self.runs.scale, self.measurements(), self.claims(), self.context())

    def show(self) -> None:
        arguments = (self.runs.table, self.runs.scale, self.measurements(), self.claims(), self.context())
        print_table(*arguments)
        minutes = sum(record["seconds"] for record in self.records.values()) / 60
        print(f"{len(self.records)} of {len(self.runs.runs)} runs, {as_duration(minutes * 60)} of computing; {self.output}")
        sys.stdout.flush()
        self._track_table()

    def measurements(self) -> dict[tuple[str, str], Measurement]:
        return self.runs.measurements(self.records, self.failures, frozenset(self.started))

    def claims(self) -> list[Claim]:
        return judge_claims(self.runs.table, self.measurements())

    def context(self) -> Context:
        """Notes and environment, read from the records themselves."""
        notes = dict.fromkeys(note for record in self.records.values() for note in record["data"]["notes"])
        changed = [argument for argument in self.extra if not argument.startswith(("tracking", "paths", "hardware"))]
        if changed:
            notes[f"Changed on the command line: {' '.join(changed)}."] = None
        environments = [record["environment"] for record in self.records.values()]
        hardware = [record["hardware"] for record in self.records.values()]
        described: dict[str, str] = {}
        if environments:
            commits = [e["commit"][:12] + ("+changes" if e["dirty"] else "") for e in environments]
            described = {
                "device": _distinct(f"{e['device']} ({e['processor']})" for e in environments),
                "threads per run": _distinct(str(e["threads"]) for e in environments),
                "precision": _distinct(each["precision"] for each in hardware),
                "commit": _distinct(commits),
                "torch": _distinct(e["libraries"]["torch"] for e in environments),
                "python": _distinct(e["python"] for e in environments),
                "finished": max(record["finished"] for record in self.records.values()),
            }
        minutes = sum(record["seconds"] for record in self.records.values()) / 60 if self.records else None
        return Context(command(), minutes, list(notes), described)

    def _track_table(self) -> None:
        """The rendered table as a table of the dashboard, in a run of its own."""
        if not self.runs.runs:
            return
        tracking = build(next(iter(self.runs.runs.values())).config.groups["tracking"])
        tracker = tracking.open(f"{self.runs.table.id}-{self.runs.scale}", self.runs.table.id, "table", {})
        rows = [[*place, measured.value, measured.state] for place, measured in self.measurements().items()]
        tracker.log_table("table", ("row", "column", "value", "state"), rows)
        tracker.log_table("claims", ("claim", "holds", "detail"), [(c.text, c.verdict, c.detail) for c in self.claims()])
        tracker.finish({"runs": len(self.records), "failures": len(self.failures)})


def _distinct(values: Any) -> str:
    return ", ".join(dict.fromkeys(values))
