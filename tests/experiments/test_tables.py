"""Every table at smoke scale, to the end, as a user would start it."""

import csv
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from experiments.drawing import picture_name
from experiments.reproduce import TABLES, parse, reproduce
from experiments.tabulation.specification import load_tables
from experiments.tabulation.table import Cell, Table
from experiments.workers import Job, Result, run_job

EXTRAS = {
    "data=locomotion": "stable_baselines3",
    "computation=learning_curve": "stable_baselines3",
}


@cache
def all_tables() -> dict[str, Table]:
    return load_tables(TABLES)


def computed(table: str) -> bool:
    """Whether its cells are computed without data."""
    return any(override.startswith("computation=") for override in all_tables()[table].overrides)


def has_stand_in(table: str) -> bool:
    cells = all_tables()[table].cells("smoke")
    return any("stand_in_for=" in override for cell in cells for override in cell.overrides or ())


def can_run(cell: Cell) -> bool:
    """Whether it has a run, and the extra that the run needs is there."""
    if cell.overrides is None:
        return False
    return all(find_spec(module) is not None for need, module in EXTRAS.items() if need in cell.overrides)


def choices() -> list:
    """Tables of many computed runs take longer than their computation: each is a configuration to compose."""
    tables = all_tables()
    runs = {name: {cell.overrides for cell in table.cells("smoke")} for name, table in tables.items()}
    slow = {name for name in tables if computed(name) and len(runs[name]) > 10}
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in sorted(tables)]


class InThisProcess:
    """In the place of worker processes, which have tests of their own: starting one takes longer than a table's runs."""

    has_room, running, busy = True, (), False

    def __init__(self, size: int, runs: Path):
        self.results: list[Result] = []

    def submit(self, job: Job) -> None:
        self.results.append(run_job(job))

    def collect(self, seconds: float) -> list[Result]:
        done, self.results = self.results, []
        return done

    def close(self) -> None:
        assert not self.results


@pytest.mark.parametrize("table", choices())
def test_the_smoke_scale_of_every_table_fills_every_cell_that_has_a_run(table: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if any(override in EXTRAS for override in all_tables()[table].overrides):
        monkeypatch.setenv("SYMLAB_DATA", str(tmp_path / "data"))  # recordings are made anew
    monkeypatch.setattr("experiments.filling.WorkerPool", InThisProcess)
    request = parse([f"table={table}", "scale=smoke", "tracking=off", "hardware.threads=1"])
    assert reproduce(request) == 0
    results = tmp_path / "results" / table / "smoke"
    with open(results / "measured.csv", newline="") as file:
        measured = {(line["row"], line["column"]): line["value"] for line in csv.DictReader(file)}
    cells = all_tables()[table].cells("smoke")
    for cell in cells:
        assert bool(measured[cell.place]) == can_run(cell), cell.place
    with open(results / "claims.csv", newline="") as file:
        assert {line["holds"] for line in csv.DictReader(file)} <= {"true", "false", "missing"}
    assert ("in the place of" in (results / "TABLE.md").read_text()) == has_stand_in(table)
    for name in all_tables()[table].drawings if any(map(can_run, cells)) else ():
        assert (results / picture_name(name)).read_bytes().startswith(b"\x89PNG")
