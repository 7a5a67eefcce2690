"""Pictures of one run, drawn into its directory from its arrays: whatever has a drawing here is drawn."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.drawings.trajectories import draw_trajectory
from experiments.pictures import save_picture
from symlab.records import RunDirectory

# By the array that a drawing is about; the file has the same name.
DRAWINGS: Mapping[str, Callable[[Mapping[str, np.ndarray]], Figure]] = {"eta": draw_trajectory}


def draw_run(directory: RunDirectory) -> list[Path]:
    """The files drawn, none for a run without such arrays."""
    arrays = directory.arrays()
    paths = []
    for name, draw in DRAWINGS.items():
        if name in arrays and arrays[name].size:
            path = directory.path / f"{name}.png"
            save_picture(draw(arrays), path)
            paths.append(path)
    return paths
