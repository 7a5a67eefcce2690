"""Every table at smoke scale, to the end, as a user would start it."""

import csv
from pathlib import Path

import pytest

from experiments.reproduce import TABLES, parse, reproduce
from experiments.tabulation.specification import load_tables


@pytest.mark.parametrize("table", sorted(load_tables(TABLES)))
def test_the_smoke_scale_of_every_table_fills_every_cell_that_has_a_run(table: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = parse([f"table={table}", "scale=smoke", "tracking=off", "hardware.threads=1"])
    assert reproduce(request) == 0
    results = tmp_path / "results" / table / "smoke"
    with open(results / "measured.csv", newline="") as file:
        measured = {(line["row"], line["column"]): line["value"] for line in csv.DictReader(file)}
    for cell in load_tables(TABLES)[table].cells("smoke"):
        assert bool(measured[cell.place]) == (cell.missing is None), cell.place
    with open(results / "claims.csv", newline="") as file:
        assert {line["holds"] for line in csv.DictReader(file)} <= {"true", "false", "missing"}
    assert "in the place of" in (results / "TABLE.md").read_text()
