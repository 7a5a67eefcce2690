"""What the drawings of invariant weights show; that they are drawn at all is tested with the figures' folders."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.drawing import Drawable, DrawnRun
from experiments.drawings.invariant_weights import (
    COPIES,
    STAGES,
    STOCHASTIC_COPIES,
    draw_converging_filters,
    draw_learned_banks,
    draw_predicted_invariance,
)
from experiments.reproduce import TABLES
from experiments.tabulation.specification import load_table


def drawable(table_id: str, arrays: dict[str, np.ndarray]) -> Drawable:
    table = load_table(TABLES / table_id)
    places = [(row, column) for row in table.row_labels for column in table.column_labels]
    directory = SimpleNamespace(arrays=lambda: arrays, key="key")
    runs = {place: [DrawnRun(*place, {}, directory)] for place in places}  # type: ignore[arg-type]
    return Drawable(table, "smoke", {}, runs)


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    eta = np.zeros((8, 6))
    eta[:, 2] = -np.linspace(0, np.pi, 8)
    filters = np.random.default_rng(0).normal(size=(8, 2, 1, 5, 5)).astype(np.float32)
    return {"epoch": np.arange(8), "eta": eta, "filters": filters}


def test_curves_are_rotations_in_degrees_whatever_their_sign(arrays):
    figure = draw_predicted_invariance(drawable("invariant_weights_figure2", arrays))
    assert len(figure.axes) == 3
    for panel in figure.axes:
        assert len(panel.get_lines()) == 5
        assert panel.get_lines()[0].get_ydata() == pytest.approx(np.linspace(0, 180, 8))  # type: ignore[arg-type]


def test_converging_filters_turn_from_nothing_to_a_full_turn(arrays):
    figure = draw_converging_filters(drawable("invariant_weights_figure3", arrays))
    pictures = np.stack([axes.get_images()[0].get_array() for axes in figure.axes]).reshape(STAGES, 2, COPIES, 5, 5)
    start, end = pictures[0, 0], pictures[-1, 0]
    np.testing.assert_allclose(start, np.broadcast_to(arrays["filters"][0, 0, 0], start.shape), atol=1e-5)
    np.testing.assert_allclose(end[COPIES // 2], arrays["filters"][-1, 0, 0], atol=1e-5)  # no rotation in the middle
    np.testing.assert_allclose(end[0], arrays["filters"][-1, 0, 0, ::-1, ::-1], atol=1e-5)  # half a turn at the ends
    np.testing.assert_allclose(end[-1], end[0], atol=1e-5)


def test_learned_banks_have_a_line_for_each_filter_of_each_row(arrays):
    figure = draw_learned_banks(drawable("invariant_weights_figure4", arrays))
    assert len(figure.axes) == 4 * 2 * STOCHASTIC_COPIES
