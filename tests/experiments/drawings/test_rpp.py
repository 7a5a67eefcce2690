from pathlib import Path

import pytest

from experiments.drawing import Drawable, DrawnRun
from experiments.drawings.rpp import draw_equivariance, draw_levels, draw_winds
from experiments.reproduce import TABLES
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.specification import load_table
from symlab.records import RunDirectory


def test_boxes_are_the_errors_of_the_trials(tmp_path: Path):
    table = load_table(TABLES / "rpp_figure3_2")
    directory = RunDirectory(tmp_path, "key")
    trials = [DrawnRun("RPP", "", {"metrics": {"test/mse": error}}, directory) for error in (1.0, 2.0, 4.0)]
    runs = {("RPP", "Inertia, exact"): trials, ("MLP", "Pendulum, misspecified"): trials[:1]}
    figure = draw_levels(Drawable(table, "quick", {}, runs))
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == ["Inertia, exact", "Pendulum, misspecified"]
    whiskers = [line.get_ydata().tolist() for line in shown[0].lines[1:3]]
    assert {value for ends in whiskers for value in ends} >= {1.0, 4.0}


def test_winds_have_a_line_for_each_variance():
    table = load_table(TABLES / "rpp_figure3_5_1")
    first = (table.row_labels[0], table.column_labels[0])
    missing = Measurement.missing("not yet")
    cells = {(row, column): missing for row in table.row_labels for column in table.column_labels}
    figure = draw_winds(Drawable(table, "quick", cells | {first: Measurement(0.5, None, 1, "measured")}, {}))
    (axis,) = figure.axes
    assert len(axis.lines) == len(table.row_labels)
    assert axis.lines[0].get_ydata()[0] == 0.5


def test_every_member_of_an_ensemble_has_its_line(tmp_path: Path):
    table = load_table(TABLES / "rpp_figure3_5_2")
    directory = RunDirectory(tmp_path, "key")
    directory.path.mkdir()
    for epoch in range(4):
        directory.append_metrics({"epoch": epoch, **({"equivariance_error": 0.1 * epoch} if epoch % 2 else {})})
    members = [DrawnRun("Inertia", "", {}, directory)] * 3
    figure = draw_equivariance(Drawable(table, "quick", {}, {("Inertia", table.column_labels[0]): members}))
    lines = figure.axes[0].lines
    assert len(lines) == 3
    assert lines[0].get_xydata().tolist() == [[1, pytest.approx(0.1)], [3, pytest.approx(0.3)]]
