"""`make lint` fails when a method imports what only the application may."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("experiments", "ella", "emlp_rpp", "invariant_weights", "lila", "symlab")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=directory,
        env={"PYTHONPATH": str(directory), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_tree_as_it_is_keeps_every_contract(copy: Path):
    done = lint(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("ella/pooling.py", "import hydra", "plain libraries"),
        ("symlab/trainer/map.py", "import wandb", "plain libraries"),
        ("symlab/models/mlp.py", "import ella.network", "The application uses methods"),
        ("emlp_rpp/counting.py", "import ella.network", "The application uses methods"),
        ("experiments/run.py", "import wandb", "Only experiments.tracking knows wandb"),
        ("ella/network.py", "import torchvision", "Only the torchvision module"),
    ],
)
def test_a_forbidden_import_breaks_its_contract(copy: Path, file: str, line: str, broken: str):
    path = copy / file
    path.write_text(f"{line}\n{path.read_text()}")
    done = lint(copy)
    assert done.returncode != 0
    assert any(broken in text and "BROKEN" in text for text in done.stdout.splitlines()), done.stdout
