"""Runs a client (npm, pip, apt-get, a download) that must show signs of life, or is killed with all its children.

A sign of life is output, or growth of the files in its working directory: a client may load a large file without a word.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_POLL_SECONDS = 0.25
_GRACE_SECONDS = 2.0
_ERROR_MARKS = ("error", "e:", "npm err")


class AttemptError(Exception):
    """One source could not deliver; the message is the reason, without the source's name."""


def run_watched(
    command: Sequence[str], directory: Path, silence: float, environment: Mapping[str, str] | None = None
) -> str:
    """Output of ``command`` run in ``directory``; AttemptError if it is missing, fails, or is silent for ``silence`` s."""
    try:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise AttemptError(f"{command[0]} is not installed") from error
    except OSError as error:
        raise AttemptError(f"{command[0]} cannot be run ({error.strerror})") from error
    try:
        output = _collect(process, directory, silence)
        code = process.wait()
    finally:
        _kill_group(process)
    if code:
        raise AttemptError(f"{_reason(output)} (exit code {code})")
    return output


def _collect(process: "subprocess.Popen[bytes]", directory: Path, silence: float) -> str:
    """Reads until the output is closed."""
    pipe = process.stdout
    assert pipe is not None
    chunks: list[bytes] = []
    alive, size = time.monotonic(), _size(directory)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if selector.select(timeout=min(_POLL_SECONDS, silence)):
                chunk = _read_available(pipe)
                if not chunk:
                    return b"".join(chunks).decode(errors="replace")
                chunks.append(chunk)
                alive = time.monotonic()
            elif (grown := _size(directory)) != size:
                alive, size = time.monotonic(), grown
            elif time.monotonic() - alive > silence:
                raise AttemptError(f"silent for {silence:g} s, killed")


def _read_available(pipe: IO[bytes]) -> bytes:
    return os.read(pipe.fileno(), 1 << 16)


def _size(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:  # a temporary file of the client, gone since it was listed
                continue
    return total


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Ends the client and whatever it started; the group outlives a client that left children behind."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


def _reason(output: str) -> str:
    """What most likely says why: the first two lines the client marked as errors, or else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if line.lower().startswith(_ERROR_MARKS)]
    return " / ".join(marked[:2] or lines[-1:] or ["no output"])[:300]
