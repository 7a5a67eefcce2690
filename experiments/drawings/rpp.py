"""Figures of residual pathway priors (thesis, section 3.5): levels of symmetry, winds, equivariance while training."""

import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import Drawable

_COLOURS = {"MLP": "tab:gray", "EMLP": "tab:blue", "RPP": "tab:red"}


def draw_levels(content: Drawable) -> Figure:
    """Box plots of the test error over trials, a panel a column: boxes are quartiles, whiskers reach to the extremes."""
    columns = [c for c in content.table.column_labels if any(content.runs.get((r, c)) for r in content.table.row_labels)]
    data_sets = list(dict.fromkeys(column.split(",")[0] for column in columns))
    width = max(1, *(sum(column.startswith(name) for column in columns) for name in data_sets), 1)
    figure = Figure(figsize=(3.2 * width, 3.2 * max(1, len(data_sets))), layout="constrained")
    panels = figure.subplots(max(1, len(data_sets)), width, squeeze=False)
    for axis in panels.flat:
        axis.set_visible(False)
    for line, name in zip(panels, data_sets):
        for axis, column in zip(line, (each for each in columns if each.startswith(name))):
            axis.set_visible(True)
            for at, row in enumerate(content.table.row_labels):
                errors = [run.metrics["test/mse"] for run in content.runs.get((row, column), [])]
                if errors:
                    box = axis.boxplot(errors, positions=[at], widths=0.6, whis=(0, 100), patch_artist=True)
                    box["boxes"][0].set_facecolor(_COLOURS[row])
            labels = content.table.row_labels
            axis.set(title=column, yscale="log", xticks=range(len(labels)), xticklabels=labels)
        line[0].set_ylabel("test MSE")
    return figure


def draw_winds(content: Drawable) -> Figure:
    """Test error over the strength of the wind, a line for each prior variance of the free weights."""
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axis = figure.subplots()
    columns = content.table.column_labels
    for row in content.table.row_labels:
        values = [content.value(row, column) for column in columns]
        axis.plot(range(len(columns)), [np.nan if v is None else v for v in values], marker="o", label=f"variance {row}")
    axis.set(xticks=range(len(columns)), xticklabels=columns, yscale="log", ylabel="test MSE")
    axis.legend(fontsize="small")
    return figure


def draw_equivariance(content: Drawable) -> Figure:
    """The equivariance error of every member of the ensembles over the epochs."""
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axis = figure.subplots()
    first = content.table.column_labels[0]  # all columns are of the same runs
    for at, row in enumerate(content.table.row_labels):
        for member, run in enumerate(content.runs.get((row, first), [])):
            points = [(line["epoch"], line["equivariance_error"]) for line in run.history if "equivariance_error" in line]
            label = row if member == 0 else None
            axis.plot(*np.array(points).T, color=f"C{at}", alpha=0.6, marker="." if len(points) < 2 else None, label=label)
    axis.set(xlabel="epoch", ylabel="equivariance error", yscale="log")
    if axis.lines:
        axis.legend(fontsize="small")
    return figure
