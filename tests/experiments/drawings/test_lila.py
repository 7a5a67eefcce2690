"""What the drawings of LILA show; that they are drawn at all is tested with the figures' folders (test_tables)."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments.drawing import Drawable, DrawnRun
from experiments.drawings.lila import draw_data_efficiency, draw_trajectories, imposed_amounts
from experiments.reproduce import TABLES
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.specification import load_table
from symlab.transformations.affine import GENERATORS

AFFINE = {"max_degrees": 0.0, "max_pixels": 0, "max_scale": 1.0}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"max_degrees": 90.0}, {"rotation": math.pi / 2}),
        ({"max_pixels": 8}, {"translation_x": 8 / 13.5, "translation_y": 8 / 13.5}),
        ({"max_scale": 2.0}, {"scale_x": math.log(2), "scale_y": math.log(2)}),
        ({}, {}),
    ],
)
def test_imposed_amounts_are_in_units_of_eta(change: dict[str, float], expected: dict[str, float]):
    data = {"variant": {**AFFINE, **change}, "resolution": None}
    assert imposed_amounts(data, [1, 28, 28]) == pytest.approx(expected)


def test_original_images_have_nothing_imposed():
    data = {"variant": {"_target_": "symlab.data.variants.Unchanged"}, "resolution": None}
    assert imposed_amounts(data, [1, 28, 28]) == {}


def drawn(row: str, column: str, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> DrawnRun:
    return DrawnRun(row, column, record, SimpleNamespace(arrays=lambda: arrays, key=row + column))  # type: ignore[arg-type]


def test_trajectories_have_the_imposed_amounts_dashed():
    table = load_table(TABLES / "lila_figure2")
    column = table.column_labels[0]
    eta = np.zeros((4, 6))
    eta[:, 2] = [0, -1, -2, -3]
    arrays = {"epoch": np.arange(4), "eta": eta, "generators": np.array(GENERATORS)}
    record = {
        "config": {"data": {"variant": {**AFFINE, "max_degrees": 180.0}, "resolution": None}},
        "data": {"input_shape": [1, 28, 28]},
        "metrics": {f"eta/{name}": 0.1 for name in GENERATORS},
    }
    runs: dict[tuple[str, str], list[DrawnRun]] = {(row, column): [] for row in table.row_labels}
    runs["Fully rotated", column] = [drawn("Fully rotated", column, record, arrays)]
    figure = draw_trajectories(Drawable(table, "smoke", {}, runs))
    panel = figure.axes[0]
    lines = {str(line.get_label()): line for line in panel.get_lines()}
    assert lines["rotation"].get_ydata().tolist() == [0, 1, 2, 3]  # type: ignore[union-attr]
    dashed = [line for line in panel.get_lines() if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in dashed] == [math.pi]  # type: ignore[index]
    assert len(figure.axes) == 3  # with two flow fields


def test_data_efficiency_shows_what_was_measured(tmp_path: Path):
    table = load_table(TABLES / "lila_figure3")
    places = [(row, column) for row in table.row_labels for column in table.column_labels]
    measurements = dict.fromkeys(places, Measurement.missing("not yet"))
    runs: dict[tuple[str, str], list[DrawnRun]] = {place: [] for place in places}
    for size, accuracy in ((1000, 40.0), (5000, 60.0)):
        place = ("Scaled, LILA", str(size))
        measurements[place] = Measurement(accuracy, None, 1, "measured")
        runs[place] = [drawn(*place, {"data": {"train_size": size}, "metrics": {}}, {})]
    figure: Figure = draw_data_efficiency(Drawable(table, "paper", measurements, runs))
    panel = next(axes for axes in figure.axes if axes.get_title() == "Scaled")
    curves = {str(label): handle for handle, label in zip(*panel.get_legend_handles_labels())}
    assert set(curves) == {"non-invariant", "Augerino", "LILA"}
    curve = curves["LILA"][0]  # type: ignore[index]
    assert (curve.get_xdata().tolist(), curve.get_ydata().tolist()) == ([1000, 5000], [40.0, 60.0])
