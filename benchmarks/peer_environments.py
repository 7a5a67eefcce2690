"""Virtual environments of the peers, ``.bench/<name>/``: made on demand, pinned, quick when they are already there.

Peers never share our environment: their pins would decide ours, and some do not import beside torchvision. Each requirement
is installed together with the pinned torch, so that pip cannot replace it. What could not be installed is returned with
pip's reason and tried again next time.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

TORCH = "torch==2.13.0"  # the version of our own environment, so that ratios compare the peers and not torch
ROOT = Path(__file__).resolve().parent.parent / ".bench"


@dataclass(frozen=True)
class PeerEnvironment:
    """Pinned requirements of one environment; ``unwanted`` packages are removed after each installation."""

    name: str
    requirements: tuple[str, ...]
    unwanted: tuple[str, ...] = ()


@dataclass
class PreparedEnvironment:
    """``python`` runs the environment; ``missing`` maps a requirement to the reason why it is not there."""

    python: Path
    missing: dict[str, str] = field(default_factory=dict)


KFAC_PEERS = PeerEnvironment(
    "kfac",
    (
        "laplace-torch==0.3",
        "curvlinops-for-pytorch==3.0.1",
        "backpack-for-pytorch==1.7.1",
        "nngeometry==0.4",
        "asdfghjkl==0.1a4",  # its module is called asdl; the package named asdl is another project
    ),
    unwanted=("torchvision",),  # a dependency of several, used by none here; beside it laplace does not import
)


EMLP_PEER = PeerEnvironment("emlp", ("emlp==1.0.3", "six==1.17.0"))  # six: used and not declared by a dependency


def prepare(environment: PeerEnvironment, root: Path = ROOT) -> PreparedEnvironment:
    """Make or complete an environment. A stamp file says what is installed, so a second call starts no pip."""
    folder = root / environment.name
    python, stamp = folder / "bin" / "python", folder / "installed.json"
    installed = _read_stamp(stamp) if python.exists() else []
    wanted = [requirement for requirement in environment.requirements if requirement not in installed]
    if not wanted:
        return PreparedEnvironment(python)

    print(f"peers: installing {', '.join(wanted)} into {folder.relative_to(root.parent)}", file=sys.stderr, flush=True)
    if not installed:
        shutil.rmtree(folder, ignore_errors=True)
        problem = _run([sys.executable, "-m", "venv", str(folder)])
        if problem:
            return PreparedEnvironment(python, dict.fromkeys(wanted, f"no virtual environment: {problem}"))

    missing = {}
    if _install(python, wanted) is not None:  # one that fails must not keep the others out
        for requirement in wanted:
            problem = _install(python, [requirement])
            if problem is not None:
                missing[requirement] = problem
    for package in environment.unwanted:
        _run([str(python), "-m", "pip", "uninstall", "--quiet", "--yes", package])
    stamp.write_text(json.dumps([TORCH, *(name for name in environment.requirements if name not in missing)]) + "\n")
    return PreparedEnvironment(python, missing)


def _read_stamp(stamp: Path) -> list[str]:
    """What is installed; nothing when the environment was left half made or has another torch."""
    if not stamp.exists():
        return []
    installed = json.loads(stamp.read_text())
    return installed if TORCH in installed else []


def _install(python: Path, requirements: Sequence[str]) -> str | None:
    """None when pip installed all of them, otherwise its reason."""
    return _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TORCH, *requirements])


def _run(command: Sequence[str]) -> str | None:
    """None on success, otherwise the last error line of the command."""
    finished = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
    if finished.returncode == 0:
        return None
    lines = [line.strip() for line in finished.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or [f"exit status {finished.returncode}"])[-1].removeprefix("ERROR: ")


if __name__ == "__main__":
    for missing_name, why in prepare(KFAC_PEERS).missing.items():
        print(f"missing: {missing_name}: {why}")
