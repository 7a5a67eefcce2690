"""Pictures of learned layers: over training, and of the network at its end (ELLA Fig. 3)."""

import io
from collections.abc import Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from ella.inspection import ONLY_PATH, PathReport, effective_types

COLOURS = ("tab:orange", "tab:blue", "tab:green", "tab:purple", "tab:red")
NAMES = {"fc": "FC", "conv": "CONV", "f_fc": "F-FC", "s_fc": "S-FC", "s_conv": "S-CONV", "gconv": "GCONV"}


def title_of(path: str) -> str:
    return NAMES.get(path, path)


def _paths(reports: Sequence[PathReport]) -> list[str]:
    return list(dict.fromkeys(report.path for report in reports))


def draw_training(history: Sequence[tuple[int, Sequence[PathReport]]]) -> Figure:
    """Prior precision and relative effective number of parameters of every path against the epoch, one column per layer.

    ``history``: (epoch, reports) of each fit.
    """
    last = history[-1][1]
    paths, layers = _paths(last), 1 + max(report.layer for report in last)
    figure = Figure(figsize=(1.9 * layers, 4.2), layout="constrained")
    axes: Any = figure.subplots(2, layers, sharex=True, sharey="row", squeeze=False)
    epochs = [epoch + 1 for epoch, _ in history]
    for layer in range(layers):
        for path, colour in zip(paths, COLOURS):
            own = [next((r for r in reports if (r.layer, r.path) == (layer, path)), None) for _, reports in history]
            for row, quantity in enumerate(("prior_precision", "relative_effective_parameters")):
                values = [float("nan") if report is None else getattr(report, quantity) for report in own]
                axes[row][layer].plot(epochs, values, color=colour, label=title_of(path), marker=".", markersize=4)
        axes[0][layer].set_title(f"layer {layer}", fontsize=9)
        axes[0][layer].set_yscale("log")
        axes[1][layer].set_ylim(-0.03, 1.03)
        axes[1][layer].set_xlabel("epoch", fontsize=8)
    axes[0][0].set_ylabel("prior precision", fontsize=8)
    axes[1][0].set_ylabel("relative effective\nnumber of parameters", fontsize=8)
    axes[0][0].legend(fontsize=7)
    return figure


def draw_network(reports: Sequence[PathReport]) -> Figure:
    """The network from input to output: in each layer its paths, the stronger in colour the larger their share; the
    effective layer type stands below."""
    paths, types = _paths(reports), effective_types(reports)
    figure = Figure(figsize=(1.3 * len(types) + 1.6, 0.7 * len(paths) + 1.2), layout="constrained")
    axes: Any = figure.subplots()
    share = {(report.layer, report.path): report.relative_effective_parameters for report in reports}
    for layer, kind in enumerate(types):
        for row, path in enumerate(paths):
            if (layer, path) not in share:
                continue
            value, colour = share[layer, path], COLOURS[row % len(COLOURS)]
            box = partial(FancyBboxPatch, (layer + 0.12, -row + 0.12), 0.76, 0.66, boxstyle="round,pad=0,rounding_size=0.08")
            axes.add_patch(box(facecolor=colour, alpha=value, edgecolor="none"))
            axes.add_patch(box(facecolor="none", edgecolor=colour, linestyle="-" if path == kind else ":"))
            axes.text(layer + 0.5, -row + 0.45, f"{100 * value:.0f}%", ha="center", va="center", fontsize=8)
        label = "" if kind == ONLY_PATH else f"\n{title_of(kind)}"
        axes.text(layer + 0.5, -len(paths) + 0.85, f"{layer}{label}", ha="center", va="top", fontsize=9)
    for row, path in enumerate(paths):
        axes.text(-0.08, -row + 0.45, title_of(path), ha="right", va="center", fontsize=9)
    for layer in range(len(types) - 1):
        middle = 0.95 - len(paths) / 2
        axes.annotate(
            "", (layer + 1.12, middle), (layer + 0.88, middle), arrowprops={"arrowstyle": "->", "color": "grey", "lw": 1.2}
        )
    axes.set_xlim(-1.1, len(types))
    axes.set_ylim(-len(paths) - 0.1, 1)
    axes.axis("off")
    return figure


def as_png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    return content.getvalue()
