"""LILA on images of one's own: what a user types, and what is printed and drawn."""

from pathlib import Path

import numpy as np
from PIL import Image

from tests.experiments.commands import run

SMALL = ("learner=lila", "model.hidden=[8]", "learner.samples=2", "learner.burn_in=1", "trainer.epochs=2", "tracking=off")
SMALL = (*SMALL, "hardware.threads=1")


def test_invariances_are_printed_in_units_and_their_trajectory_is_drawn(tmp_path: Path):
    random = np.random.default_rng(0)
    for name, level in (("dark", 60), ("light", 180)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for number in range(10):
            pixels = (level + random.integers(-50, 50, (12, 15, 3))).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / name / f"{number}.png")
    done = run("run", "data=image_folder", "data.path=pictures", "data.resolution=8", *SMALL, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    learned = [line.partition(":")[0] for line in done.stdout.splitlines() if line.startswith("learned")]
    parts = ["translation x", "translation y", "rotation", "scale x", "scale y", "shear"]
    assert sorted(learned) == sorted(f"learned {part}" for part in parts)
    units = {line.split()[-1] for line in done.stdout.splitlines() if line.startswith("learned")}
    assert units == {"pixels", "degrees", "percent"}
    (picture,) = tmp_path.glob("runs/*/eta.png")
    assert f"drawn: {picture.relative_to(tmp_path)}" in done.stdout
    again = run("run", "data=image_folder", "data.path=pictures", "data.resolution=8", *SMALL, directory=tmp_path)
    assert "was finished" in again.stdout
    assert "learned rotation" in again.stdout


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path):
    done = run("run", "data=image_folder", "data.path=nowhere", *SMALL, directory=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: data.path=nowhere does not exist")


def test_the_path_has_no_default(tmp_path: Path):
    done = run("run", "data=image_folder", *SMALL, directory=tmp_path)
    assert done.returncode == 1
    assert "data.path has no value: set data.path=<value>" in done.stderr
