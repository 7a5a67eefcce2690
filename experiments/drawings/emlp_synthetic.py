"""Test error over the size of the training set (thesis, Figure 2.5)."""

import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import Drawable

_STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # 97.5% quantiles by the number of runs
_COLOURS = {"MLP": "tab:gray", "MLP-Aug": "tab:orange", "EMLP-SO+": "tab:green", "EMLP-SO": "tab:blue", "EMLP-O": "tab:red"}


def draw_data_efficiency(content: Drawable) -> Figure:
    """One panel a data set; columns are labelled ``<data set>, <size>``. Shaded: 95% intervals of the mean over runs."""
    panels: dict[str, list[tuple[int, str]]] = {}
    for column in content.table.column_labels:
        name, _, size = column.partition(", ")
        panels.setdefault(name, []).append((int(size), column))
    figure = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (name, columns) in zip(axes, panels.items()):
        for row in content.table.row_labels:
            _draw_line(axis, content, row, columns)
        axis.set(title=name, xlabel="training examples", xscale="log", yscale="log")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("test mean square error")
    axes[-1].legend(fontsize="small")
    return figure


def _draw_line(axis: object, content: Drawable, row: str, columns: list[tuple[int, str]]) -> None:
    found = []
    for size, column in columns:
        errors = [run.metrics["test/mse"] for run in content.runs.get((row, column), [])]
        if errors:
            width = _STUDENT.get(len(errors), 0.0) * np.std(errors, ddof=1) / len(errors) ** 0.5 if len(errors) > 1 else 0.0
            found.append((size, float(np.mean(errors)), float(width)))
    if not found:
        return
    sizes, means, widths = map(np.array, zip(*found))
    axis.plot(sizes, means, "o-", markersize=3, label=row, color=_COLOURS.get(row))  # type: ignore[attr-defined]
    if widths.any():
        lower = np.maximum(means - widths, means / 10)  # an interval below zero has no place on a logarithmic axis
        axis.fill_between(sizes, lower, means + widths, alpha=0.2, color=_COLOURS.get(row))  # type: ignore[attr-defined]
