from pathlib import Path

import numpy as np

from experiments.drawing import Drawable, DrawnRun
from experiments.drawings.equinas import draw_architectures, draw_populations
from experiments.reproduce import TABLES
from experiments.tabulation.specification import load_table
from symlab.records import RunDirectory


def content(table: str, arrays: dict[str, np.ndarray], path: Path) -> Drawable:
    """Runs of two rows have finished, the third has none."""
    loaded = load_table(TABLES / table)
    column = loaded.column_labels[0]
    directory = RunDirectory(path, "key")
    directory.path.mkdir()
    directory.write_arrays(arrays)
    runs = {(row, column): [DrawnRun(row, column, {}, directory)] for row in loaded.row_labels[:2]}
    return Drawable(loaded, "quick", {}, runs | {(loaded.row_labels[2], column): []})


def test_lines_of_a_population_start_at_the_parent(tmp_path: Path):
    arrays = {
        "selected": np.array([[1, 0], [2, 0], [2, 3], [3, 3]]),
        "individual": np.array([0, 3]),
        "parent": np.array([-1, 0]),
        "parameters": np.array([100, 150]),
        "architecture": np.array(["D4 D4", "D4 C4"]),
        "test_error": np.array([0.1, 0.05]),
    }
    figure = draw_populations(content("equinas_figure1", arrays, tmp_path))
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == ["rotMNIST", "Galaxy10"]
    parent, child = panels[0].lines
    assert parent.get_xydata().tolist() == [[1, 100], [2, 100]]
    assert child.get_xydata().tolist() == [[1, 100], [2, 150], [3, 150]]
    assert [text.get_text() for text in panels[0].texts] == ["D4 C4"]
    assert parent.get_color() != child.get_color()


def test_every_layer_has_a_panel_with_a_line_for_each_group(tmp_path: Path):
    weights = np.full((4, 3, 2), 0.5)
    weights[:, 2, 0] = [0.5, 0.6, 0.7, 0.8]
    arrays = {"groups": np.array(["C1", "D4"]), "epoch": np.arange(4), "architecture": weights}
    figure = draw_architectures(content("equinas_figure2", arrays, tmp_path))
    assert len(figure.axes) == 6
    assert figure.axes[2].get_title() == "layer 3"
    assert figure.axes[2].lines[0].get_xydata().tolist() == [[1, 0.5], [2, 0.6], [3, 0.7], [4, 0.8]]
