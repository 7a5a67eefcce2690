"""Checksums written as ``algorithm:hex`` and files that are read only after theirs was found right.

Nothing of a file is parsed, decompressed or unpickled before its bytes matched.
"""

import gzip
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from symlab.errors import DataError

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Pinned:
    """A canonical file of a data set: its name, the checksum of its bytes, and those accepted for ``name.gz``."""

    name: str
    checksum: str
    compressed: tuple[str, ...] = ()


def checksum_of(data: bytes, algorithm: str) -> str:
    return f"{algorithm}:{hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()}"


def checksum_of_file(path: Path, algorithm: str) -> str:
    """The same for a file too large to hold in memory."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"{algorithm}:{digest.hexdigest()}"


def verify_file(path: Path, checksum: str, remedy: str = "delete it to fetch it again") -> None:
    """Raises DataError unless the file has the checksum."""
    with reading(path):
        found = checksum_of_file(path, checksum.partition(":")[0])
    if found != checksum:
        raise _mismatch(path, (checksum,), found, remedy)


def read_pinned(path: Path, pinned: Pinned) -> bytes:
    """The verified bytes of ``pinned``, stored at ``path`` plainly or, as ``<name>.gz``, compressed."""
    with reading(path):
        data = path.read_bytes()
    if path.name == f"{pinned.name}.gz":
        _verify(path, data, pinned.compressed, "delete it to fetch it again")
        data = gzip.decompress(data)
    _verify(path, data, (pinned.checksum,), "delete it to fetch it again")
    return data


def _verify(path: Path, data: bytes, accepted: Sequence[str], remedy: str) -> None:
    found = [checksum_of(data, checksum.partition(":")[0]) for checksum in accepted]
    if not set(found) & set(accepted):
        raise _mismatch(path, accepted, found[0], remedy)


def _mismatch(path: Path, accepted: Sequence[str], found: str, remedy: str) -> DataError:
    expected = " or ".join(_prefix(checksum) for checksum in accepted)
    return DataError(f"{path} is damaged or another file: its checksum is {_prefix(found)}, not {expected}: {remedy}")


def _prefix(checksum: str) -> str:
    algorithm, _, hexadecimal = checksum.partition(":")
    return f"{algorithm}:{hexadecimal[:12]}"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns an OSError while ``path`` is read into a one-line DataError naming it."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{path} cannot be read ({reason}): check its permissions, or set data.root elsewhere") from error
