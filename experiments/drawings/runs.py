"""Pictures of one run, drawn into its directory from what it logged."""

from pathlib import Path

from experiments.drawings.trajectories import REACH, draw_reaches
from experiments.pictures import save_picture
from symlab.records import RunDirectory


def draw_run(directory: RunDirectory) -> list[Path]:
    """The files drawn, none for a run that learned no invariances."""
    epochs = directory.metrics()
    if not any(name.startswith(REACH) for line in epochs for name in line):
        return []
    path = directory.path / "eta.png"
    save_picture(draw_reaches(epochs), path)
    return [path]
