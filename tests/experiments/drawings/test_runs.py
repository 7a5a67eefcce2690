from pathlib import Path

import numpy as np

from experiments.drawings.runs import draw_run
from symlab.records import RunDirectory


def test_a_trajectory_is_drawn_into_the_directory_of_its_run(tmp_path: Path):
    directory = RunDirectory(tmp_path, "key")
    directory.path.mkdir()
    assert draw_run(directory) == []
    eta = np.linspace(0, -1, 6).reshape(3, 2)
    directory.write_arrays({"epoch": np.arange(3), "eta": eta, "generators": np.array(["rotation", "shear"])})
    (path,) = draw_run(directory)
    assert path == directory.path / "eta.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_nothing_is_drawn_of_a_run_that_had_nothing_to_learn(tmp_path: Path):
    directory = RunDirectory(tmp_path, "key")
    directory.path.mkdir()
    directory.write_arrays({"epoch": np.arange(2), "eta": np.zeros((2, 0)), "generators": np.array([], dtype=np.str_)})
    assert draw_run(directory) == []
