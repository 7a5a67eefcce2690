from pathlib import Path

from experiments.drawings.runs import draw_run
from experiments.drawings.trajectories import draw_reaches
from symlab.records import RunDirectory

EPOCHS = [
    {
        "epoch": epoch,
        "invariance/rotation_degrees": 9.0 * epoch,
        "invariance/scale_x_percent": 1.0,
        "invariance/shear_percent": 2.0,
    }
    for epoch in range(3)
]


def test_a_trajectory_is_drawn_into_the_directory_of_its_run(tmp_path: Path):
    directory = RunDirectory(tmp_path, "key")
    directory.path.mkdir()
    assert draw_run(directory) == []
    directory.append_metrics({"epoch": 0, "train/loss": 1.0})  # an epoch without a fit
    assert draw_run(directory) == []
    for line in EPOCHS:
        directory.append_metrics(line)
    (path,) = draw_run(directory)
    assert path == directory.path / "eta.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_one_panel_for_each_unit():
    degrees, percent = draw_reaches(EPOCHS).axes
    assert "degrees" in degrees.get_ylabel()
    assert [line.get_label() for line in degrees.lines] == ["rotation"]
    assert degrees.lines[0].get_xydata().tolist() == [[1, 0], [2, 9], [3, 18]]
    assert [line.get_label() for line in percent.lines] == ["scale x", "shear"]
