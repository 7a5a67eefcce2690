"""Files that are either complete or absent, and errors that say which file could not be written."""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from symlab.errors import RunError

_REMEDIES = {
    errno.ENOSPC: "the disk is full: free space or choose another directory with paths.runs=<dir>",
    errno.EDQUOT: "the disk quota is used up: free space or choose another directory with paths.runs=<dir>",
    errno.EACCES: "permission denied: choose another directory with paths.runs=<dir>",
    errno.EPERM: "permission denied: choose another directory with paths.runs=<dir>",
    errno.EROFS: "the file system is read-only: choose another directory with paths.runs=<dir>",
}


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an operating-system error about ``path`` into a RunError with a remedy."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, error.strerror or str(error))
        raise RunError(f"cannot write {path}: {remedy}") from error


class _KeepsItsError:
    """A file whose first write error survives a writer that replaces it by one of its own (torch.save does)."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        self._file.flush()


def write_atomically(path: Path, write: Callable[[Any], object]) -> None:
    """Call ``write(binary file)`` on a temporary neighbour, flush it to the disk, then rename it to ``path``."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage_errors(path):
        try:
            with open(temporary, "wb") as file:
                guarded = _KeepsItsError(file)
                try:
                    write(guarded)
                except RuntimeError:
                    if guarded.error is not None:
                        raise guarded.error from None
                    raise
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise RunError(f"cannot read {path}: {error}; delete the run directory to compute it again") from error
