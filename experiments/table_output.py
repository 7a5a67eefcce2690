"""A table's files, its picture on the terminal and its copy on the dashboard, all derived from the runs' records."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from experiments.drawing import collect, draw
from experiments.progress import as_duration
from experiments.run import command
from experiments.table_runs import Records, TableRuns
from experiments.tabulation.claims import judge_claims
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.presentation import Context
from experiments.tabulation.render import write_table
from experiments.tabulation.terminal import print_table
from experiments.tracking import Tracking

Measurements = Mapping[tuple[str, str], Measurement]

# Overrides that say where a run computes, not what: they need no note at the table.
_EXECUTION = ("tracking", "paths", "hardware", "execution", "data.root")


class TableOutput:
    def __init__(self, runs: TableRuns, results: Path, extra: Sequence[str]):
        self.runs, self.extra = runs, tuple(extra)
        self.directory = results / runs.table.id / runs.scale
        self.pictures: list[str] = []

    def write(self, measurements: Measurements, records: Records) -> None:
        """Render every file again, each one atomically; pictures are left to ``draw``."""
        table, claims = self.runs.table, judge_claims(self.runs.table, measurements)
        write_table(self.directory, table, self.runs.scale, measurements, claims, self._context(records))

    def draw(self, measurements: Measurements, records: Records) -> None:
        """Draw what the table names and render its pages with the pictures."""
        if self.runs.table.drawings:
            self.pictures = [path.name for path in draw(collect(self.runs, measurements, records), self.directory)]
            self.write(measurements, records)

    def show(self, measurements: Measurements, records: Records) -> None:
        table, claims = self.runs.table, judge_claims(self.runs.table, measurements)
        print_table(table, self.runs.scale, measurements, claims, self._context(records))
        seconds = sum(record["seconds"] for record in records.values())
        print(f"{len(records)} of {len(self.runs.runs)} runs, {as_duration(seconds)} of computing; files: {self.directory}")
        sys.stdout.flush()

    def track(self, tracking: Tracking, measurements: Measurements) -> None:
        """The table and its claims as tables of the dashboard, in a run of their own."""
        table = self.runs.table
        tracker = tracking.open(
            f"{table.id}-{self.runs.scale}", f"{table.id} {self.runs.scale}", "table", {"table": table.id}
        )
        rows = [[*place, measured.value, measured.state] for place, measured in measurements.items()]
        tracker.log_table("table", ("row", "column", "value", "state"), rows)
        claims = [(claim.text, claim.verdict, claim.detail) for claim in judge_claims(table, measurements)]
        tracker.log_table("claims", ("claim", "holds", "detail"), claims)
        tracker.finish({"measured": sum(measured.value is not None for measured in measurements.values())})

    def _context(self, records: Records) -> Context:
        """What a reader must know beside the numbers, read from the records themselves."""
        notes = dict.fromkeys(note for record in records.values() for note in record["data"]["notes"])
        changed = [argument for argument in self.extra if not argument.startswith(_EXECUTION)]
        if changed:
            notes[f"Changed on the command line: {' '.join(changed)}."] = None
        minutes = sum(record["seconds"] for record in records.values()) / 60 if records else None
        return Context(command(), minutes, list(notes), _environment(records) if records else {}, self.pictures)


def _environment(records: Records) -> dict[str, str]:
    environments = [record["environment"] for record in records.values()]
    return {
        "device": _distinct(f"{each['device']} ({each['processor']})" for each in environments),
        "threads per run": _distinct(str(each["threads"]) for each in environments),
        "precision": _distinct(record["hardware"]["precision"] for record in records.values()),
        "commit": _distinct(each["commit"][:12] + ("+changes" if each["dirty"] else "") for each in environments),
        "torch": _distinct(each["libraries"]["torch"] for each in environments),
        "python": _distinct(each["python"] for each in environments),
        "finished": max(record["finished"] for record in records.values()),
    }


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))
