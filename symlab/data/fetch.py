"""Finds the canonical files of a data set, or fetches them from an ordered list of origins.

1. The local roots are searched. What lies there is taken, and a wrong checksum is an error, never a reason to go on.
2. Otherwise each origin in turn writes the files into a temporary directory inside the first root. Every file is verified
   there, then renamed into ``<root>/<data set>/``, so that a reader sees whole files or none.
3. If all origins fail, one error lists each of them, why it failed, and what the user can do.

A lock file per data set keeps two processes from fetching the same one at once; the second finds the files of the first.
"""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from symlab.data.checksums import Pinned, checksum_of_file
from symlab.data.roots import find_file, make_writable, not_writable, parse_roots
from symlab.data.watched import AttemptError
from symlab.errors import DataError

logger = logging.getLogger(__name__)

SILENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Origin:
    """A place files can come from: ``fetch(directory, silence)`` writes every canonical file into the (absolute) directory.

    It raises AttemptError with the reason if it cannot.
    """

    label: str
    fetch: Callable[[Path, float], None]


@dataclass(frozen=True)
class Obtained:
    """Where the canonical files lie (by name), and where they came from."""

    paths: dict[str, Path]
    origin: str


def locate(roots: Sequence[Path], files: Sequence[Pinned], folders: Sequence[str]) -> Obtained | None:
    """All files in one of the folders of the local roots (a file may be compressed), or None."""
    paths: dict[str, Path] = {}
    for file in files:
        endings = ("", ".gz") if file.compressed else ("",)
        found = find_file(roots, [f"{folder}/{file.name}{ending}" for folder in folders for ending in endings])
        if found is None:
            return None
        paths[file.name] = found
    return Obtained(paths, f"local {next(iter(paths.values())).parent}")


def obtain(
    name: str,
    files: Sequence[Pinned],
    origins: Sequence[Origin],
    root: str,
    folders: Sequence[str] = (),
    advice: str = "",
    silence: float = SILENCE_SECONDS,
) -> Obtained:
    """The files of data set ``name``: local in ``<root>/<name>`` or other ``folders`` of a root, else fetched.

    ``advice`` ends the error raised when nothing helped: what the user can download by hand, and where to put it.
    """
    roots = parse_roots(root)
    folders = (name, *folders)
    if local := locate(roots, files, folders):
        return local
    make_writable(roots[0])
    lock = FileLock(roots[0] / f".{_flat(name)}.lock")
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.info("%s: another process is fetching it, waiting", name)
            lock.acquire()
    except OSError as error:
        raise not_writable(roots[0], error) from error
    try:
        return locate(roots, files, folders) or _fetch(name, files, origins, roots, advice, silence)
    finally:
        lock.release()


def _fetch(
    name: str, files: Sequence[Pinned], origins: Sequence[Origin], roots: Sequence[Path], advice: str, silence: float
) -> Obtained:
    """Tries the origins in turn. The caller holds the lock."""
    failures = [f"local ({os.pathsep.join(map(str, roots))}): no {_missing(name, files)}"]
    for leftover in roots[0].glob(f".{_flat(name)}-*"):  # of a process that was killed: the lock is ours
        shutil.rmtree(leftover, ignore_errors=True)
    for origin in origins:
        logger.info("%s: trying %s", name, origin.label)
        started = time.monotonic()
        try:
            paths = _attempt(name, files, origin, roots[0], silence)
        except AttemptError as error:
            failures.append(f"{origin.label}: {error}")
            logger.warning("%s: %s failed: %s", name, origin.label, error)
            continue
        except OSError as error:
            raise not_writable(roots[0], error) from error
        logger.info("%s: fetched from %s in %.1f s", name, origin.label, time.monotonic() - started)
        return Obtained(paths, origin.label)
    reasons = "; ".join(f"({number}) {failure}" for number, failure in enumerate(failures, start=1))
    raise DataError(f"{name} cannot be had: {reasons}. {advice or _default_advice(name, files, roots[0])}")


def _attempt(name: str, files: Sequence[Pinned], origin: Origin, root: Path, silence: float) -> dict[str, Path]:
    """One origin: fetch into a temporary directory, verify all, then rename."""
    with tempfile.TemporaryDirectory(prefix=f".{_flat(name)}-", dir=root, ignore_cleanup_errors=True) as temporary:
        directory = Path(temporary).absolute()  # clients work in it, so a relative root would lead them astray
        origin.fetch(directory, silence)
        for file in files:
            require(directory / file.name, file.checksum)
        target = root / name
        target.mkdir(parents=True, exist_ok=True)
        for file in files:
            os.replace(directory / file.name, target / file.name)
    return {file.name: target / file.name for file in files}


def require(path: Path, checksum: str) -> None:
    """AttemptError unless the file is there with the checksum: what an origin does before it unpacks an archive."""
    if not path.is_file():
        raise AttemptError(f"it did not deliver {path.name}")
    found = checksum_of_file(path, checksum.partition(":")[0])
    if found != checksum:
        raise AttemptError(f"{path.name} has checksum {found[:19]}, expected {checksum[:19]}")


def _flat(name: str) -> str:
    return name.replace("/", "_")


def _missing(name: str, files: Sequence[Pinned]) -> str:
    return f"{name}/{files[0].name}" + (f" and {len(files) - 1} more" if len(files) > 1 else "")


def _default_advice(name: str, files: Sequence[Pinned], root: Path) -> str:
    names = ", ".join(file.name for file in files)
    return f"Connect to the internet or a package mirror, or put {names} into {root / name}"
