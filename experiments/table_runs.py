"""The runs behind a table's cells: which there are, and what their records say.

Cells are looked up by recomputing the keys of their runs: no file names are parsed and nothing is asked of a dashboard.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.composition import RunConfig, compose_run
from experiments.tabulation.measurement import Measurement, aggregate
from experiments.tabulation.table import Cell, Table
from experiments.workers import Job
from symlab.errors import SymlabError
from symlab.records import RunDirectory

Records = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class TableRun:
    """One run, with the first cell that asked for it as its name."""

    job: Job
    config: RunConfig
    row: str
    column: str

    @property
    def label(self) -> str:
        return f"{self.row} / {self.column} / seed {self.config.seed}"


SEED = "${seed}"  # in an override: the run's seed, for example which of the published splits a run uses


class TableRuns:
    """All runs of a table at one scale, in the order of the cells; runs shared by several cells occur once."""

    def __init__(self, table: Table, scale: str, extra: Sequence[str] = ()):
        self.table, self.scale = table, scale
        self.cells = table.cells(scale)
        self.runs: dict[str, TableRun] = {}
        self.keys: dict[tuple[str, str], list[str]] = {}  # of a cell, one per seed
        composed: dict[tuple[str, ...], RunConfig] = {}  # by the overrides, with the seed where they depend on it
        for cell in self.cells:
            if cell.overrides is None:
                continue
            tracked = (*extra, f"tracking.group={table.id}", f"tracking.tags={_tags(table, cell, scale)}")
            overrides = (*cell.overrides, *tracked)
            depends_on_seed = any(SEED in override for override in cell.overrides)
            for seed in cell.seeds:
                own = (*cell.overrides, f"seed={seed}") if depends_on_seed else cell.overrides
                if own not in composed:
                    try:
                        composed[own] = compose_run((*own, *tracked))
                    except SymlabError as error:
                        raise type(error)(f"table {table.id}, {cell.row} / {cell.column}: {error}") from error
                config = replace(composed[own], seed=seed)
                key = config.key
                self.keys.setdefault(cell.place, []).append(key)
                if key not in self.runs:
                    self.runs[key] = TableRun(Job(key, (*overrides, f"seed={seed}")), config, cell.row, cell.column)
        self.directory = Path(next(iter(self.runs.values())).config.groups["paths"]["runs"]) if self.runs else Path("runs")

    def records(self) -> dict[str, dict[str, Any]]:
        """The records that exist, by key."""
        found = {}
        for key in self.runs:
            record = RunDirectory(self.directory, key).record()
            if record is not None:
                found[key] = record
        return found

    def measurements(
        self, records: Records, failures: Mapping[str, Measurement], running: frozenset[str] = frozenset()
    ) -> dict[tuple[str, str], Measurement]:
        """Every cell's content now; ``failures`` says how a run without a record ended, ``running`` are still expected."""
        return {cell.place: self._measure(cell, records, failures, running) for cell in self.cells}

    def _measure(
        self, cell: Cell, records: Records, failures: Mapping[str, Measurement], running: frozenset[str]
    ) -> Measurement:
        keys = self.keys.get(cell.place, [])
        if not keys:
            return Measurement.missing(cell.missing or "it has no seeds")
        failed = next((failures[key] for key in keys if key in failures), None)
        if not any(key in records for key in keys):
            if failed is not None:
                return failed
            if any(key in running for key in keys):
                return Measurement.running()
        metrics = [records[key]["metrics"] if key in records else None for key in keys]
        measurement = aggregate(cell, metrics, failed.reason if failed else "")
        remark = next((records[key]["remark"] for key in keys if key in records and records[key].get("remark")), "")
        return replace(measurement, reason=remark) if remark and not measurement.reason else measurement


def _tags(table: Table, cell: Cell, scale: str) -> str:
    """A Hydra list of tags; quoted, because labels contain spaces, commas and parentheses."""
    quoted = [tag.replace("\\", "\\\\").replace("'", "\\'") for tag in (table.paper, cell.row, scale)]
    return "[" + ",".join(f"'{tag}'" for tag in quoted) + "]"
