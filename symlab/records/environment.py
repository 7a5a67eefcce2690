"""Where a number was measured: code version, libraries, device, threads, memory."""

import os
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import torch

_LIBRARIES = ("torch", "torchvision", "numpy", "hydra-core", "omegaconf")


@dataclass(frozen=True)
class Environment:
    commit: str
    dirty: bool | None
    python: str
    libraries: Mapping[str, str]
    machine: str
    processor: str
    cores: int
    threads: int
    device: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def _git(*arguments: str) -> str | None:
    """Output of git in the source tree, or None where there is no git or no repository."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe_environment(device: torch.device) -> Environment:
    status = _git("status", "--porcelain", "--untracked-files=no")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return Environment(
        commit=_git("rev-parse", "HEAD") or "unknown",
        dirty=None if status is None else bool(status),
        python=platform.python_version(),
        libraries={library: metadata.version(library) for library in _LIBRARIES},
        machine=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        device=name,
    )


def peak_memory_bytes(device: torch.device) -> int:
    """Peak memory of this process so far: of the device where it has its own, else resident memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
