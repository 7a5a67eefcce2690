"""MuJoCo robots: errors of rolled out transition models (thesis, Table 3.3) and learning curves of agents (Figure 3.4)."""

import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import Drawable, DrawnRun

_COLOURS = {"MLP": "tab:gray", "RPP": "tab:red", "SAC": "tab:gray", "RPP-SAC": "tab:red", "RPP policy": "tab:orange"}


def draw_rollout_error(content: Drawable) -> Figure:
    """The relative error of the state, geometric mean over trajectories and runs; shaded: from the smallest to the largest
    run. One panel a robot; the columns are called <robot> <model>."""
    robots: dict[str, list[str]] = {}
    for column in content.table.column_labels:
        if _runs(content, column):
            robots.setdefault(column.rpartition(" ")[0], []).append(column)
    figure = Figure(figsize=(4.6 * max(1, len(robots)), 3.6), layout="constrained")
    panels = figure.subplots(1, max(1, len(robots)), squeeze=False)[0]
    for panel, (robot, columns) in zip(panels, robots.items()):
        for column in columns:
            model = column.rpartition(" ")[2]
            errors = 100 * np.exp([run.arrays["state_log_mean"] for run in _runs(content, column)])
            steps = np.arange(1, errors.shape[1] + 1)
            panel.plot(steps, np.exp(np.log(errors).mean(0)), label=model, color=_COLOURS[model])
            panel.fill_between(steps, errors.min(0), errors.max(0), alpha=0.2, color=_COLOURS[model])
        panel.set(title=robot, xlabel="steps", yscale="log")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("relative error of the state (%)")
    if robots:
        panels[-1].legend(fontsize="small")
    return figure


def _runs(content: Drawable, column: str) -> list[DrawnRun]:
    """Those of a column, whose rows share them."""
    found = [content.runs.get((row, column), []) for row in content.table.row_labels]
    return next((runs for runs in found if runs), [])


def draw_learning_curves(content: Drawable) -> Figure:
    """The largest mean return so far: mean and one standard deviation over runs. One panel a robot."""
    columns = [c for c in content.table.column_labels if any((r, c) in content.runs for r in content.table.row_labels)]
    figure = Figure(figsize=(4.2 * max(1, len(columns)), 3.4), layout="constrained")
    panels = figure.subplots(1, max(1, len(columns)), squeeze=False)[0]
    for panel, column in zip(panels, columns):
        for row in content.table.row_labels:
            runs = content.runs.get((row, column), [])
            if runs:
                best = np.stack([run.arrays["best"] for run in runs])
                steps, middle, spread = runs[0].arrays["steps"], best.mean(0), best.std(0)
                panel.plot(steps, middle, label=row, color=_COLOURS[row])
                panel.fill_between(steps, middle - spread, middle + spread, alpha=0.2, color=_COLOURS[row])
        panel.set(title=column, xlabel="steps of the simulator")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("largest mean return so far")
    if columns:
        panels[-1].legend(fontsize="small")
    return figure
