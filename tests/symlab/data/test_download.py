from pathlib import Path

import pytest

from symlab.data.download import download, main


def test_a_file_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"x" * 1_000_000)
    download((tmp_path / "source").as_uri(), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"x" * 1_000_000


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"data")
    assert main(["url", (tmp_path / "source").as_uri(), str(tmp_path / "copy")]) == 0
    assert (tmp_path / "copy").read_bytes() == b"data"


def test_a_failure_is_one_line_and_an_exit_code(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["url", (tmp_path / "missing").as_uri(), str(tmp_path / "copy")]) == 1
    assert caplog.messages[-1].startswith("error: ")
    assert "\n" not in caplog.messages[-1]
