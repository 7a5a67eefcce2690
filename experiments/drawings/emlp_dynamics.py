"""Rollouts of learned dynamics (thesis, Figure 2.6): an example, angular momentum, the error of the state over time."""

import numpy as np
from matplotlib.figure import Figure

from emlp_rpp.data.double_spring import INTERVAL, angular_momentum
from experiments.drawing import Drawable, DrawnRun

_COLOURS = {"O(2)": "tab:red", "SO(2)": "tab:blue", "D_6": "tab:green", "D_2": "tab:olive", "MLP": "tab:gray"}
_SHOWN_SECONDS = 12


def draw_example(content: Drawable) -> Figure:
    """The second mass seen from above and its height, of the first test trajectory; one row a kind of dynamics."""
    rows = [row for row in content.table.row_labels if any(_first_runs(content, row))]
    figure = Figure(figsize=(10, 3.4 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 3, squeeze=False)
    for (above, height, momentum), row in zip(panels, rows):
        runs = _first_runs(content, row)
        shown = slice(0, int(_SHOWN_SECONDS / INTERVAL) + 1)
        lines = [("truth", "black", runs[0].arrays["true"])]
        lines += [(run.column, _COLOURS[run.column], run.arrays["predicted"]) for run in runs]
        for label, colour, states in lines:
            times = INTERVAL * np.arange(len(states))
            style = {"color": colour, "linewidth": 2.0 if label == "truth" else 1.0, "label": label}
            above.plot(states[shown, 3], states[shown, 4], **style)
            height.plot(times[shown], states[shown, 5], **style)
            momentum.plot(times, angular_momentum(states), **style)
        _frame(above, lines[0][2][:, 3], lines[0][2][:, 4])
        _frame(height, None, lines[0][2][:, 5])
        _frame(momentum, None, angular_momentum(lines[0][2]))
        above.set(title=f"{row}: second mass from above", xlabel="x", ylabel="y")
        height.set(title=f"its height, {_SHOWN_SECONDS} s", xlabel="seconds")
        momentum.set(title="angular momentum about z", xlabel="seconds")
    panels[0, -1].legend(fontsize="small")
    return figure


def _frame(axis: object, horizontal: np.ndarray | None, vertical: np.ndarray) -> None:
    """Room for the truth and as much again; a prediction that leaves may leave the picture."""
    for values, setter in ((horizontal, "set_xlim"), (vertical, "set_ylim")):
        if values is not None:
            middle, half = (values.max() + values.min()) / 2, max(np.ptp(values), 0.1)
            getattr(axis, setter)(middle - half, middle + half)


def draw_state_error(content: Drawable) -> Figure:
    """Geometric mean of the relative error over trajectories; shaded: 1 standard deviation of its logarithm."""
    return _draw_over_time(content, "state", "relative error of the state")


def draw_angular_momentum(content: Drawable) -> Figure:
    """Left: the cells, with 1.96 standard errors over runs. Right: the error over time."""
    rows, columns = content.table.row_labels, content.table.column_labels
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axis = figure.subplots()
    for at, row in enumerate(rows):
        for place, column in enumerate(columns):
            errors = [run.metrics["test/angular_momentum_error"] for run in content.runs.get((row, column), [])]
            if errors:
                spread = 1.96 * np.std(errors, ddof=1) / len(errors) ** 0.5 if len(errors) > 1 else None
                position = at * (len(columns) + 1) + place
                axis.bar(position, np.mean(errors), yerr=spread, color=_COLOURS[column], label=column if at == 0 else None)
    axis.set_xticks([at * (len(columns) + 1) + (len(columns) - 1) / 2 for at in range(len(rows))], rows)
    axis.set(yscale="log", ylabel="relative error of angular momentum")
    axis.legend(fontsize="small", ncols=len(columns))
    return figure


def _draw_over_time(content: Drawable, name: str, label: str) -> Figure:
    rows = [row for row in content.table.row_labels if any(_first_runs(content, row))]
    figure = Figure(figsize=(4.6 * len(rows), 3.6), layout="constrained")
    axes = figure.subplots(1, len(rows), squeeze=False, sharey=True)[0]
    for axis, row in zip(axes, rows):
        for run in _first_runs(content, row):
            mean, spread = run.arrays[f"{name}_log_mean"][1:], run.arrays[f"{name}_log_std"][1:]
            times = INTERVAL * np.arange(1, len(mean) + 1)
            axis.plot(times, np.exp(mean), label=run.column, color=_COLOURS[run.column])
            axis.fill_between(times, np.exp(mean - spread), np.exp(mean + spread), alpha=0.15, color=_COLOURS[run.column])
        axis.set(title=row, xlabel="seconds", yscale="log")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(label)
    axes[-1].legend(fontsize="small")
    return figure


def _first_runs(content: Drawable, row: str) -> list[DrawnRun]:
    """One run of each column that has any."""
    found = [content.runs.get((row, column), []) for column in content.table.column_labels]
    return [runs[0] for runs in found if runs]
