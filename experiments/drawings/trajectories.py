"""What a run learned besides its weights, over its epochs.

In a figure of several runs: arrays ``epoch (T,)``, ``eta (T, G)`` and ``generators (G,)``, their names; eta is shown by its
absolute value, since its sign does not matter. Of a single run: the reach of every generator in units that a person reads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

REACH = "invariance/"
COLOURS = {
    "translation_x": "tab:blue",
    "translation_y": "tab:cyan",
    "rotation": "tab:red",
    "scale_x": "tab:green",
    "scale_y": "tab:olive",
    "shear": "tab:purple",
}


def plot_trajectories(axes: Axes, arrays: Mapping[str, np.ndarray]) -> None:
    for index, name in enumerate(map(str, arrays["generators"])):
        axes.plot(arrays["epoch"] + 1, np.abs(arrays["eta"][:, index]), color=COLOURS[name], label=name, linewidth=1)
    axes.set_xlabel("epoch", fontsize=8)
    axes.tick_params(labelsize=7)


def draw_reaches(epochs: Sequence[Mapping[str, Any]]) -> Figure:
    """What was logged of a run as ``invariance/<generator>_<unit>``, one panel for each unit."""
    logged = [line for line in epochs if any(name.startswith(REACH) for name in line)]
    panels: dict[str, list[str]] = {}
    for name in sorted(name for name in logged[-1] if name.startswith(REACH)):
        panels.setdefault(name.rpartition("_")[2], []).append(name)
    figure = Figure(figsize=(3.4 * len(panels), 2.8), layout="constrained")
    for axes, (unit, names) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for name in names:
            generator = name.removeprefix(REACH).rpartition("_")[0]
            reached = [line[name] for line in logged]
            colour = COLOURS.get(generator)
            axes.plot([line["epoch"] + 1 for line in logged], reached, color=colour, label=generator.replace("_", " "))
        axes.set_ylabel(f"learned reach (± {unit})", fontsize=8)
        axes.set_xlabel("epoch", fontsize=8)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
        axes.legend(fontsize=7)
    return figure
