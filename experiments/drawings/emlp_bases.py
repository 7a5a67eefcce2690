"""Equivariant bases in colours (thesis, Figures 2.2 and 2.3) and the convergence of iterations to them (Figure A.1)."""

import numpy as np
from matplotlib.colors import ListedColormap, hsv_to_rgb
from matplotlib.figure import Figure

from experiments.drawing import Drawable

_WHITE = (1.0, 1.0, 1.0)
_GOLDEN = 0.618034  # steps of this length around the colour circle never come close to an earlier one soon


def palette(count: int) -> ListedColormap:
    """White for zero, then ``count`` colours."""
    at = np.arange(count)
    hues, strengths = (at * _GOLDEN) % 1.0, 0.55 + 0.15 * (at % 4)
    return ListedColormap([_WHITE, *hsv_to_rgb(np.stack([hues, strengths, np.full(count, 0.9)], axis=1)).tolist()])


def draw_bases(content: Drawable) -> Figure:
    """One panel a run; entries of one colour agree in every invariant tensor, white ones vanish in all of them."""
    runs = content.all_runs
    figure = Figure(figsize=(2.6 * min(4, len(runs)), 2.9 * -(-len(runs) // 4)), layout="constrained")
    panels = figure.subplots(-(-len(runs) // 4), min(4, len(runs)), squeeze=False)
    for axis in panels.flat:
        axis.set_axis_off()
    for axis, run in zip(panels.flat, runs):
        colours = run.arrays["colours"]
        count = max(1, colours.max() + 1)
        axis.imshow(colours + 1, cmap=palette(count), vmin=0, vmax=count, interpolation="nearest")
        axis.set_title(f"{run.row}\nrank {run.metrics['rank']:.0f}", fontsize="small")
    return figure


def draw_convergence(content: Drawable) -> Figure:
    """|C X| over iterations: Algorithm 1 and conjugate gradients."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, name, title in zip(axes, ("descent", "conjugate"), ("gradient descent (Algorithm 1)", "conjugate gradients")):
        for run in content.all_runs:
            axis.semilogy(np.maximum(run.arrays[name], 1e-18), label=run.row)
        axis.set(title=title, xlabel="iterations")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("relative size of C X")
    axes[1].legend(fontsize="x-small")
    return figure
