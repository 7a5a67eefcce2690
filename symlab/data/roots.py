"""The directories that hold data: ``data.root`` is a list separated by ``os.pathsep``, searched in order.

Downloads are stored in the first. A root that does not exist is merely empty; one that cannot be read is an error.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from symlab.errors import DataError

_ADVICE = "set data.root or SYMLAB_DATA to a directory you can"


def parse_roots(root: str) -> tuple[Path, ...]:
    """``"a:b"`` -> the paths a and b; DataError if there is none, or one of them cannot be listed."""
    roots = tuple(Path(part).expanduser() for part in root.split(os.pathsep) if part)
    if not roots:
        raise DataError(f"data.root is empty: {_ADVICE} read and write")
    for path in roots:
        try:
            with os.scandir(path):
                pass
        except FileNotFoundError:
            continue
        except OSError as error:
            raise DataError(f"data root {path} cannot be read ({error.strerror}): {_ADVICE} read") from error
    return roots


def find_file(roots: Sequence[Path], candidates: Sequence[str]) -> Path | None:
    """The first of the candidate paths (relative to a root) that exists, roots in order."""
    for root in roots:
        for candidate in candidates:
            path = root / candidate
            try:
                path.stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise DataError(f"{path} cannot be read ({error.strerror}): check its permissions") from error
            return path
    return None


def make_writable(directory: Path) -> None:
    """Creates the directory; DataError if it cannot be created or written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(directory, error) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise DataError(f"data root {directory} cannot be written (Permission denied): {_ADVICE} write")


def not_writable(directory: Path, error: OSError) -> DataError:
    return DataError(f"data root {directory} cannot be written ({error.strerror}): {_ADVICE} write")
