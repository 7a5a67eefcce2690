"""Pictures of a table's runs, from a folder with computed cells to files beside the rendered table."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments.drawing import Drawable, find_drawing
from experiments.reproduce import parse, reproduce
from experiments.tabulation.specification import load_table
from symlab.errors import TableError

TABLE = """
id: sample_figure1
paper: sample
number: "1"
kind: figure
title: Ranks
caption: Invariant tensors
drawings: [tests.experiments.test_drawing.draw_ranks]
overrides: [computation=emlp_rank, computation/group=so]
rows: [{label: "2", overrides: [computation.p=2]}, {label: "3", overrides: [computation.p=3]}]
columns: [{label: SO(3), metric: rank, digits: 0}]
scales:
  smoke: {seeds: [0], note: the same}
  quick: {seeds: [0], note: the same}
  paper: {seeds: [0]}
"""


def draw_ranks(content: Drawable) -> Figure:
    figure = Figure()
    runs = content.all_runs
    assert [run.row for run in runs] == ["2", "3"]
    assert [run.metrics["rank"] for run in runs] == [content.value(run.row, run.column) for run in runs] == [1, 1]
    assert runs[0].history == []
    assert runs[0].arrays == {}
    assert runs[0].seed == 0
    figure.subplots().plot([run.metrics["dimension"] for run in runs])
    return figure


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "tables" / "sample_figure1"
    path.mkdir(parents=True)
    (path / "table.yaml").write_text(TABLE)
    (path / "claims.yaml").write_text("- {claim: There is one., holds: \"cell('2', 'SO(3)') == 1\"}\n")
    return path


def test_a_figure_is_filled_and_drawn(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("experiments.reproduce.TABLES", folder.parent)
    assert reproduce(parse(["table=sample_figure1", "scale=smoke", "tracking=off"])) == 0
    results = tmp_path / "results" / "sample_figure1" / "smoke"
    picture = (results / "draw_ranks.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert "![draw\\_ranks.png](draw_ranks.png)" in (results / "TABLE.md").read_text()
    assert '<img src="draw_ranks.png"' in (results / "table.html").read_text()
    assert "Figure 1" in (results / "TABLE.md").read_text()
    assert reproduce(parse(["table=sample_figure1", "scale=smoke", "tracking=off"])) == 0
    assert (results / "draw_ranks.png").read_bytes() == picture


def test_a_figure_has_its_own_command_and_needs_no_printed_numbers(folder: Path):
    table = load_table(folder)
    assert table.command == "make reproduce-sample-figure1"
    assert table.paper_values == {}


def test_a_drawing_that_does_not_exist_is_named(folder: Path):
    table = load_table(folder)
    with pytest.raises(TableError, match=r"drawings: experiments.nothing.draw cannot be imported"):
        find_drawing(table, "experiments.nothing.draw")
