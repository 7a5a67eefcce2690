"""Start the application as a user would: in a process of its own, in a directory of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def arguments(module: str, *overrides: str) -> list[str]:
    return [sys.executable, "-m", f"experiments.{module}", *overrides]


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "SYMLAB", "HYDRA"))}
    return kept | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **changes}


def run(module: str, *overrides: str, directory: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments(module, *overrides),
        cwd=directory,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def start(module: str, *overrides: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments(module, *overrides),
        cwd=directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
