"""Figures of invariant weights, from the arrays of runs: ``epoch (T,)``, ``eta (T, 6)`` and ``filters (T, K, C, h, w)``."""

import math

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.drawing import Drawable, DrawnRun
from invariant_weights.products import resample
from symlab.transformations.affine import GENERATORS, ROTATION, affine_maps

COPIES = 7  # of a filter, as in the paper's Figure 3
STAGES = 6  # of training, from its first to its last epoch
STOCHASTIC_COPIES = 10


def draw_predicted_invariance(content: Drawable) -> Figure:
    """Figures 2, 5, 8 and 9: the learned rotation after every epoch, one panel a column, one curve a row."""
    columns = [label for label in content.table.column_labels if "degrees" in label]
    figure = Figure(figsize=(3.4 * len(columns), 2.9), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(columns), sharey=True))
    for axes, column in zip(panels, columns):
        for row in content.table.row_labels:
            for run in content.runs.get((row, column), [])[:1]:
                arrays = run.arrays
                degrees = np.degrees(np.abs(arrays["eta"][:, ROTATION]))
                axes.plot(arrays["epoch"] + 1, degrees, label=row, linewidth=1)
        axes.set_title(column, fontsize=8)
        axes.set_xlabel("epoch", fontsize=8)
        axes.tick_params(labelsize=7)
    panels[0].set_ylabel("rotation up to (degrees)", fontsize=8)
    panels[0].legend(fontsize=6)
    return figure


def draw_converging_filters(content: Drawable) -> Figure:
    """Figures 3 and 7: copies of filters spaced evenly from -eta to eta, from the start of training (top) to its end."""
    shown = _with_filters(content)
    counts = [run.arrays["filters"].shape[1] for run in shown]
    figure = Figure(figsize=(0.55 * COPIES * max(counts), 0.65 * STAGES * len(shown)), layout="constrained")
    boxes = figure.subfigures(len(shown), 1, squeeze=False)[:, 0]
    spaced = torch.linspace(-1, 1, COPIES)
    for box, run in zip(boxes, shown):
        arrays = run.arrays
        stages = np.linspace(0, len(arrays["epoch"]) - 1, STAGES).round().astype(int)
        panels = box.subplots(STAGES, COPIES * arrays["filters"].shape[1], squeeze=False)
        for line, stage in zip(panels, stages):
            noise = torch.zeros(COPIES, len(GENERATORS))
            noise[:, :] = spaced[:, None]
            banks = _banks(arrays["filters"][stage], arrays["eta"][stage], noise)
            _show(line, banks.transpose(1, 0, *range(2, banks.ndim)).reshape(-1, *banks.shape[2:]))
            degrees = math.degrees(abs(float(arrays["eta"][stage, ROTATION])))
            line[0].set_ylabel(f"±{degrees:.0f}°", fontsize=6)
    return figure


def draw_learned_banks(content: Drawable) -> Figure:
    """Figures 4 and 6: stochastic copies of filters as training left them, one block a row of the table."""
    shown = _with_filters(content)
    kept = max(run.arrays["filters"].shape[1] for run in shown)
    figure = Figure(figsize=(0.55 * STOCHASTIC_COPIES, (0.6 * kept + 0.3) * len(shown)), layout="constrained")
    boxes = figure.subfigures(len(shown), 1, squeeze=False)[:, 0]
    # Drawn by a fixed rule, so that the same eta gives the same picture.
    noise = 2 * torch.rand(STOCHASTIC_COPIES, len(GENERATORS), generator=torch.Generator().manual_seed(0)) - 1
    for box, run in zip(boxes, shown):
        arrays = run.arrays
        box.suptitle(run.row, fontsize=7)
        banks = _banks(arrays["filters"][-1], arrays["eta"][-1], noise)
        panels = box.subplots(banks.shape[1], STOCHASTIC_COPIES, squeeze=False)
        for index, line in enumerate(panels):
            _show(line, banks[:, index])
    return figure


def _with_filters(content: Drawable) -> list[DrawnRun]:
    column = content.table.column_labels[0]
    return [found[0] for row in content.table.row_labels if (found := content.runs[row, column])]


def _banks(filters: np.ndarray, eta: np.ndarray, noise: torch.Tensor) -> np.ndarray:
    """Filters (K, C, h, w), eta (6,), noise (S, 6) -> their copies (S, K, C, h, w)."""
    maps = affine_maps(noise * torch.from_numpy(eta).to(noise))
    return resample(torch.from_numpy(filters), maps).numpy()


def _show(panels: np.ndarray, copies: np.ndarray) -> None:
    """One picture (C, h, w) a panel, all on the same scale around zero; colours where there are three channels."""
    largest = max(float(np.abs(copies).max()), 1e-12)
    for axes, picture in zip(panels, copies):
        if len(picture) == 3:
            axes.imshow(0.5 + 0.5 * picture.transpose(1, 2, 0) / largest)
        else:
            axes.imshow(picture[0], cmap="RdBu", vmin=-largest, vmax=largest)
        _bare(axes)


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
