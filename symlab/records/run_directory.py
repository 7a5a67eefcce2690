"""One run's directory and its life: locked, checkpointed, recorded.

    config.yaml      the configuration as composed
    metrics.jsonl    one line per logged epoch
    checkpoint.pt    while running: everything a resume needs
    arrays.npz       what figures need beside the log: trajectories, weights, samples
    record.json      written last: final metrics and where they come from
    failure.json     instead of a record: why the run stopped
    owner.json       who holds the lock

A run is finished exactly when record.json exists. The lock is held by the operating system for the life of the process, so a
killed owner leaves nothing that must be cleaned up.
"""

import io
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout

from symlab.errors import RunError
from symlab.records.storage import read_json, storage_errors, write_atomically, write_json


class RunLockedError(RunError):
    """Another process is computing this run."""


class RunDirectory:
    def __init__(self, runs: Path | str, key: str):
        self.key = key
        self.path = Path(runs) / key
        self.record_path = self.path / "record.json"
        self.failure_path = self.path / "failure.json"
        self.checkpoint_path = self.path / "checkpoint.pt"
        self.metrics_path = self.path / "metrics.jsonl"
        self.arrays_path = self.path / "arrays.npz"
        self.log_path = self.path / "log.txt"

    # -- who may work here ------------------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process; raises RunLockedError at once if another one has it."""
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(str(self.path / "lock"))
        with storage_errors(self.path / "lock"):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise RunLockedError(f"run {self.key} is being computed by {self.owner()}; see {self.path}") from None
        try:
            write_json(self.path / "owner.json", {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()})
            yield
        finally:
            lock.release()

    def is_locked(self) -> bool:
        """Whether some process holds the run at this moment."""
        lock = FileLock(str(self.path / "lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        return False

    def owner(self) -> str:
        path = self.path / "owner.json"
        if not path.exists():
            return "another process"
        owner = read_json(path)
        return f"process {owner['pid']} on {owner['host']}"

    # -- results ----------------------------------------------------------------------------------------------------------

    def record(self) -> dict[str, Any] | None:
        return read_json(self.record_path) if self.record_path.exists() else None

    def failure(self) -> dict[str, Any] | None:
        return read_json(self.failure_path) if self.failure_path.exists() else None

    def write_config(self, text: str) -> None:
        write_atomically(self.path / "config.yaml", lambda file: file.write(text.encode()))

    def write_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        if arrays:
            write_atomically(self.arrays_path, lambda file: file.write(_compressed(arrays)))

    def arrays(self) -> dict[str, np.ndarray]:
        """By name; empty where the run left none."""
        if not self.arrays_path.exists():
            return {}
        with np.load(self.arrays_path, allow_pickle=False) as stored:
            return dict(stored)

    def finish(self, record: Mapping[str, Any]) -> None:
        """Write the record, then drop what only an unfinished run needs."""
        write_json(self.record_path, record)
        self.failure_path.unlink(missing_ok=True)
        self.checkpoint_path.unlink(missing_ok=True)

    def fail(self, failure: Mapping[str, Any]) -> None:
        """Record why the run cannot go on. Its checkpoint leads to the same end, so the next attempt starts afresh."""
        write_json(self.failure_path, failure)
        self.checkpoint_path.unlink(missing_ok=True)

    # -- progress ---------------------------------------------------------------------------------------------------------

    def append_metrics(self, line: Mapping[str, Any]) -> None:
        with storage_errors(self.metrics_path), open(self.metrics_path, "ab") as file:
            file.write(json.dumps(line).encode() + b"\n")

    def metrics(self) -> list[dict[str, Any]]:
        """All complete logged lines; a line cut short by a kill is left out."""
        if not self.metrics_path.exists():
            return []
        lines = self.metrics_path.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines]

    def save_checkpoint(self, state: Mapping[str, Any]) -> None:
        """Store ``state`` together with the length of the metrics log at this moment."""
        logged = self.metrics_path.stat().st_size if self.metrics_path.exists() else 0
        content = {"state": dict(state), "logged_bytes": logged}
        write_atomically(self.checkpoint_path, lambda file: torch.save(content, file))

    def load_checkpoint(self) -> dict[str, Any] | None:
        """The last stored state (on the CPU), with the metrics log cut back to it; None starts the run anew."""
        if not self.checkpoint_path.exists():
            self.metrics_path.unlink(missing_ok=True)
            return None
        try:
            content = torch.load(self.checkpoint_path, map_location="cpu", weights_only=True)
        except Exception as error:  # whatever a damaged file makes the reader raise
            raise RunError(f"{self.checkpoint_path} is damaged: delete it to start the run again") from error
        if self.metrics_path.exists():
            with storage_errors(self.metrics_path):
                os.truncate(self.metrics_path, content["logged_bytes"])
        return content["state"]


def _compressed(arrays: Mapping[str, np.ndarray]) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()
