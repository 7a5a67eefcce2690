"""Figures of LILA, from the arrays (see ``trajectories``) and records of runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.drawing import Drawable
from experiments.drawings.trajectories import COLOURS, plot_trajectories
from lila.affine import AffineDistribution
from symlab.transformations.affine import GENERATORS

METHOD_COLOURS = {"non-invariant": "tab:gray", "Augerino": "tab:orange", "LILA": "tab:blue"}
FLOW_FIELDS = 2  # a data version, as in the paper's Figure 2
ARROWS = 9  # a side


def draw_trajectories(content: Drawable) -> Figure:
    """Figure 2: one panel a row of the table, with the imposed amounts dashed, above flow fields drawn from what was
    learned."""
    runs = [content.runs[row.label, content.table.column_labels[0]] for row in content.table.rows]
    shown = [found[0] for found in runs if found]
    figure = Figure(figsize=(2.3 * len(shown) + 0.6, 5.6), layout="constrained")
    grid = figure.add_gridspec(3, len(shown), height_ratios=[2, 1, 1])
    for index, run in enumerate(shown):
        axes = figure.add_subplot(grid[0, index])
        arrays = run.arrays
        plot_trajectories(axes, arrays)
        for name, amount in imposed_amounts(run.record["config"]["data"], run.record["data"]["input_shape"]).items():
            axes.axhline(amount, color=COLOURS[name], linestyle="--", linewidth=1)
        axes.set_title(run.row, fontsize=8)
        axes.set_ylim(-0.05, math.pi + 0.15)
        if index == 0:
            axes.set_ylabel(r"$|\eta|$")
            axes.legend(fontsize=6)
        for number in range(FLOW_FIELDS):
            _plot_flow_field(figure.add_subplot(grid[1 + number, index]), run.metrics, number)
    return figure


def imposed_amounts(data: Mapping[str, Any], input_shape: Sequence[int]) -> dict[str, float]:
    """What the variant of a data configuration did to the images, in units of eta, by generator.

    Pixels of a variant are the source's; where images are resized afterwards, the same share of the width is meant.
    """
    variant = data["variant"]
    if "max_degrees" not in variant:
        return {}
    amounts = {}
    if variant["max_degrees"]:
        amounts["rotation"] = math.radians(variant["max_degrees"])
    if variant["max_pixels"] and data["resolution"] is None:
        # eta's coordinates run from -1 to 1 between the centres of the outermost pixels.
        amounts["translation_x"] = 2 * variant["max_pixels"] / (input_shape[-1] - 1)
        amounts["translation_y"] = 2 * variant["max_pixels"] / (input_shape[-2] - 1)
    if variant["max_scale"] != 1:
        amounts["scale_x"] = amounts["scale_y"] = math.log(variant["max_scale"])
    return amounts


def _plot_flow_field(axes: Axes, metrics: Mapping[str, float], number: int) -> None:
    """One draw from the distribution a run ended with: where it moves the positions of an image."""
    distribution = AffineDistribution(tuple(metrics[f"eta/{name}"] for name in GENERATORS))
    # Drawn by a fixed rule, so that the same eta gives the same picture.
    noise = 2 * torch.rand(FLOW_FIELDS, 6, generator=torch.Generator().manual_seed(0)) - 1
    with torch.no_grad():
        matrix = distribution.maps(noise)[number].numpy()
    along = np.linspace(-1, 1, ARROWS)
    points = np.stack([axis.ravel() for axis in np.meshgrid(along, along)])
    flow = matrix[:, :2] @ points + matrix[:, 2:] - points
    axes.quiver(*points, *flow, angles="xy", scale_units="xy", scale=1, width=0.01)
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(1.6, -1.6)  # y points down, as in an image
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])


def draw_data_efficiency(content: Drawable) -> Figure:
    """Figure 3: accuracy against the number of training examples. Rows are ``<data version>, <method>``, columns sizes."""
    versions = list(dict.fromkeys(row.label.rpartition(", ")[0] for row in content.table.rows))
    figure = Figure(figsize=(2.4 * len(versions), 2.8), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(versions), sharey=True))
    for axes, version in zip(panels, versions):
        for method, colour in METHOD_COLOURS.items():
            _plot_efficiency(axes, content, f"{version}, {method}", method, colour)
        axes.set_title(version, fontsize=8)
        axes.set_xscale("log")
        axes.set_xlabel("training examples", fontsize=8)
        axes.tick_params(labelsize=7)
    panels[0].set_ylabel("test accuracy (%)", fontsize=8)
    panels[0].legend(fontsize=7)
    return figure


def _plot_efficiency(axes: Axes, content: Drawable, row: str, label: str, colour: str) -> None:
    sizes, values, spreads = [], [], []
    for column in content.table.column_labels:
        measured, runs = content.measurements[row, column], content.runs.get((row, column), [])
        if measured.value is not None and runs:
            sizes.append(runs[0].record["data"]["train_size"])
            values.append(measured.value)
            spreads.append(0.0 if measured.spread is None else measured.spread / math.sqrt(measured.seeds))
    axes.errorbar(sizes, values, yerr=spreads, color=colour, label=label, marker=".", linewidth=1)
