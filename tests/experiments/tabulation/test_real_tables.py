"""Every folder of experiments/tables: it loads, its numbers are complete, and the paper's own numbers satisfy its claims."""

from pathlib import Path

import pytest

from experiments.drawing import find_drawing
from experiments.tabulation.claims import judge_claims
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.specification import load_table, load_tables

ROOT = Path(__file__).parents[3] / "experiments" / "tables"
FOLDERS = sorted(file.parent for file in ROOT.glob("*/table.yaml"))


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_ids_are_unique_and_name_their_folders() -> None:
    tables = load_tables(ROOT)
    assert {f"ella_table{number}" for number in (1, 2, 3, 4, 7)} <= set(tables)
    assert all(table.folder.name == table.id for table in tables.values())


def test_every_cell_has_a_line_in_the_paper(folder: Path) -> None:
    table = load_table(folder)
    if table.kind == "figure" and not table.paper_values:
        return  # nothing is printed
    assert set(table.paper_values) == {cell.place for cell in table.cells("paper")}


def test_printed_digits_are_the_digits_shown(folder: Path) -> None:
    table = load_table(folder)
    for cell in table.cells("paper"):
        printed = table.paper_values.get(cell.place)
        if printed is not None and printed.value is not None:
            assert cell.metric.format(printed.value) == printed.text, cell.place


def test_claims_hold_for_the_numbers_the_paper_prints(folder: Path) -> None:
    table = load_table(folder)
    printed = {place: Measurement(paper.value, paper.spread, 1, "measured") for place, paper in table.paper_values.items()}
    judged = judge_claims(table, printed)
    # A figure prints few numbers or none, so that its claims may have to wait for ours; none may contradict what is printed.
    assert [claim for claim in judged if claim.holds is False or (claim.holds is None and table.kind == "table")] == []


def test_drawings_can_be_imported(folder: Path) -> None:
    table = load_table(folder)
    for name in table.drawings:
        assert callable(find_drawing(table, name))


def test_cells_that_run_do_so_at_every_scale(folder: Path) -> None:
    table = load_table(folder)
    everywhere = {cell.place for cell in table.cells("paper") if cell.overrides}
    assert everywhere
    for name, scale in table.scales.items():
        left_out = {place for place in everywhere if set(place) & set(scale.missing) or place in scale.missing_cells}
        assert {cell.place for cell in table.cells(name) if cell.overrides} == everywhere - left_out
    assert not table.scale("paper").missing
    assert not table.scale("paper").missing_cells


def test_ella_table1_shares_the_runs_of_its_parameter_row() -> None:
    cells = {cell.place: cell for cell in load_table(ROOT / "ella_table1").cells("paper")}
    for column in ("MAP FC", "MAP CONV", "Laplace FC", "Laplace CONV", "Learned (ours)"):
        counted, measured = cells["# Params (M)", column], cells["Partial symmetry (digit, quadrant)", column]
        assert counted.overrides == measured.overrides
        assert counted.metric.key == "parameters"


@pytest.mark.parametrize(
    ("name", "cells", "runs"), [("1", 15, 10), ("2", 66, 22), ("3", 75, 10), ("4", 72, 1), ("7", 16, 8)]
)
def test_every_cell_of_ella_has_a_run_and_cells_share_runs(name: str, cells: int, runs: int) -> None:
    table = load_table(ROOT / f"ella_table{name}")
    for scale in table.scales:
        found = table.cells(scale)
        assert len(found) == cells
        assert all(cell.overrides for cell in found)
        assert len({frozenset(cell.overrides or ()) for cell in found}) == runs


def test_ella_table4_looks_at_a_run_of_table2() -> None:
    place = ("FC+CONV", "Laplace test accuracy")
    for scale in ("smoke", "quick", "cpu", "paper"):
        theirs = next(cell for cell in load_table(ROOT / "ella_table2").cells(scale) if cell.place == place)
        inspected = load_table(ROOT / "ella_table4").cells(scale)[0].overrides
        assert set(inspected or ()) == set(theirs.overrides or ())
