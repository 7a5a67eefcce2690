"""Figures of EquiNAS, from the arrays of its runs (``equinas.population.History.arrays``,
``DifferentiableSearch.arrays``)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.drawing import Drawable, DrawnRun

GROUP_COLOURS = {
    "C1": "tab:gray",
    "D1": "tab:olive",
    "C2": "tab:cyan",
    "D2": "tab:green",
    "C4": "tab:blue",
    "D4": "tab:red",
}


def draw_populations(content: Drawable) -> Figure:
    """Figures 1 and 4: one panel a data set; a line for each individual that was ever selected, from its parent's on."""
    shown = _first_runs(content)
    figure = Figure(figsize=(4.6 * len(shown), 3.6), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, run in zip(panels, shown):
        _plot_population(figure, axes, run)
    panels[0].set_ylabel("parameters")
    return figure


def _plot_population(figure: Figure, axes: Axes, run: DrawnRun) -> None:
    arrays = run.arrays
    errors = dict(zip(arrays["individual"].tolist(), 100 * (1 - arrays["test_error"])))
    parameters = dict(zip(arrays["individual"].tolist(), arrays["parameters"].tolist()))
    parents = dict(zip(arrays["individual"].tolist(), arrays["parent"].tolist()))
    known = [value for value in errors.values() if np.isfinite(value)]
    colours = figure.colorbar(
        axes.scatter([], [], c=[], cmap="viridis", vmin=min(known), vmax=max(known)), ax=axes, label="test accuracy (%)"
    )
    last = int(arrays["selected"][:, 0].max())
    for number in arrays["individual"].tolist():
        generations = arrays["selected"][arrays["selected"][:, 1] == number, 0].tolist()
        sizes = [parameters[number]] * len(generations)
        if parents[number] in parameters:  # it was born of an individual whose line is there
            generations, sizes = [generations[0] - 1, *generations], [parameters[parents[number]], *sizes]
        colour = colours.cmap(colours.norm(errors[number])) if np.isfinite(errors[number]) else "lightgray"
        axes.plot(generations, sizes, color=colour, linewidth=1.2, marker=".", markersize=3)
    final = set(arrays["selected"][arrays["selected"][:, 0] == last, 1].tolist())
    for number, architecture in zip(arrays["individual"].tolist(), arrays["architecture"].tolist()):
        if number in final:
            axes.annotate(architecture, (last, parameters[number]), fontsize=4, ha="right", va="bottom")
    axes.set_yscale("log")
    axes.set_xlabel("generation")
    axes.set_title(run.row, fontsize=9)


def draw_architectures(content: Drawable) -> Figure:
    """Figure 2: rows are data sets, columns layers; a line for each group."""
    shown = _first_runs(content)
    layers = max(run.arrays["architecture"].shape[1] for run in shown)
    figure = Figure(figsize=(1.5 * layers + 0.8, 1.7 * len(shown) + 0.4), layout="constrained")
    panels = figure.subplots(len(shown), layers, squeeze=False, sharey=True)
    for line, run in zip(panels, shown):
        arrays = run.arrays
        for layer, axes in enumerate(line[: arrays["architecture"].shape[1]]):
            for index, group in enumerate(arrays["groups"].tolist()):
                weights = arrays["architecture"][:, layer, index]
                axes.plot(arrays["epoch"] + 1, weights, color=GROUP_COLOURS[group], label=group, linewidth=1)
            axes.tick_params(labelsize=6)
            axes.set_title(f"layer {layer + 1}", fontsize=7)
        line[0].set_ylabel(run.row, fontsize=8)
    panels[0, 0].legend(fontsize=5)
    return figure


def _first_runs(content: Drawable) -> list[DrawnRun]:
    """Of every row the run of the first seed, where it has finished."""
    column = content.table.column_labels[0]
    return [found[0] for row in content.table.rows if (found := content.runs[row.label, column])]
