"""What a run learned besides its weights, over its epochs.

Arrays: ``epoch (T,)``, ``eta (T, G)`` and ``generators (G,)``, their names. eta is shown by its absolute value: its sign
does not matter.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


def draw_trajectory(arrays: Mapping[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.subplots()
    plot_trajectories(axes, arrays)
    axes.set_ylabel(r"$|\eta|$")
    axes.legend(fontsize=7)
    return figure
