"""What networks say all over the plane (arrays of ``symlab.trainer.surface``)."""

import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import Drawable, DrawnRun


def draw_decision_surfaces(content: Drawable) -> Figure:
    """The probability of class 1 all over the plane, one panel a row, with the data that was seen."""
    column = content.table.column_labels[0]
    shown = [found[0] for row in content.table.rows if (found := content.runs[row.label, column])]
    figure = Figure(figsize=(3.2 * len(shown), 3.4), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(shown)))
    for axes, run in zip(panels, shown):
        arrays = run.arrays
        probability = arrays["surface_probability"][..., 1]
        axes.contourf(
            arrays["surface_x"], arrays["surface_y"], probability, levels=21, cmap="RdBu", vmin=0, vmax=1, alpha=0.7
        )
        for label, colour in ((0, "tab:red"), (1, "tab:blue")):
            points = arrays["points"][arrays["point_targets"] == label]
            axes.scatter(*points.T, color=colour, s=8, edgecolors="black", linewidths=0.4)
        axes.set_title(_surface_title(run), fontsize=8)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def _surface_title(run: DrawnRun) -> str:
    degrees = run.metrics.get("invariance/rotation_degrees")
    return run.row if degrees is None else f"{run.row}, rotations up to ±{degrees:.0f}°"
