import gzip
import hashlib
from pathlib import Path

import pytest

from symlab.data.checksums import Pinned, checksum_of, checksum_of_file, read_pinned, verify_file
from symlab.errors import DataError

DATA = b"some bytes of a data set"
PINNED = Pinned("file", f"sha256:{hashlib.sha256(DATA).hexdigest()}", (checksum_of(gzip.compress(DATA, mtime=0), "md5"),))


def test_both_ways_of_hashing_agree(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(DATA)
    assert checksum_of_file(tmp_path / "file", "sha256") == checksum_of(DATA, "sha256") == PINNED.checksum


def test_right_bytes_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(DATA)
    assert read_pinned(tmp_path / "file", PINNED) == DATA


def test_a_compressed_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "file.gz").write_bytes(gzip.compress(DATA, mtime=0))
    assert read_pinned(tmp_path / "file.gz", PINNED) == DATA


def test_a_canonical_name_may_end_in_gz(tmp_path: Path) -> None:
    (tmp_path / "data.csv.gz").write_bytes(DATA)
    assert read_pinned(tmp_path / "data.csv.gz", Pinned("data.csv.gz", PINNED.checksum)) == DATA


def test_a_flipped_byte_is_one_line_naming_file_and_both_checksums(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes([DATA[0] ^ 1]) + DATA[1:])
    with pytest.raises(DataError) as caught:
        read_pinned(path, PINNED)
    message = str(caught.value)
    assert str(path) in message
    assert PINNED.checksum[:19] in message
    assert checksum_of(path.read_bytes(), "sha256")[:19] in message
    assert "delete it to fetch it again" in message
    assert "\n" not in message


def test_a_damaged_archive_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    # Not even gzip: unpacking it would raise BadGzipFile.
    (tmp_path / "file.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="checksum"):
        read_pinned(tmp_path / "file.gz", PINNED)


def test_verify_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(DATA)
    verify_file(tmp_path / "file", PINNED.checksum)
    with pytest.raises(DataError, match="copy it again"):
        verify_file(tmp_path / "file", "md5:00", remedy="copy it again")


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(DataError, match=r"file cannot be read \(Is a directory\)"):
        read_pinned(tmp_path / "file", PINNED)
