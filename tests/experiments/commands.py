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


def start(module: str | Path, *overrides: str, directory: Path) -> subprocess.Popen[str]:
    """``module`` of the application, or a script; the caller waits for or kills it."""
    command = arguments(module, *overrides) if isinstance(module, str) else [sys.executable, str(module), *overrides]
    return subprocess.Popen(
        command,
        cwd=directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
