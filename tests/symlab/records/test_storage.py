import errno
from pathlib import Path

import pytest
import torch

from symlab.errors import RunError
from symlab.records.storage import read_json, write_atomically, write_json


def test_a_file_is_replaced_only_when_the_new_one_is_complete(tmp_path: Path):
    path = tmp_path / "record.json"
    write_json(path, {"value": 1})

    def fail_half_way(file):
        file.write(b"{")
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        write_atomically(path, fail_half_way)
    assert read_json(path) == {"value": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("code", "remedy"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "permission denied"), (errno.EROFS, "read-only")]
)
def test_errors_of_the_system_name_the_file_and_a_remedy(tmp_path: Path, code: int, remedy: str):
    def fail(file):
        raise OSError(code, "as the system says")

    with pytest.raises(RunError, match=f"cannot write .*record.json: .*{remedy}") as caught:
        write_atomically(tmp_path / "record.json", fail)
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_recognised_behind_torch_save(tmp_path: Path, monkeypatch):
    """torch.save replaces the system's error by one of its own; ours must still say that the disk is full."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    monkeypatch.setattr("symlab.records.storage.open", lambda *_: full.open("wb", buffering=0), raising=False)
    with pytest.raises(RunError, match="disk is full"):
        write_atomically(tmp_path / "checkpoint.pt", lambda file: torch.save({"weights": torch.zeros(100_000)}, file))


def test_an_unreadable_record_is_named(tmp_path: Path):
    path = tmp_path / "record.json"
    path.write_text("{")
    with pytest.raises(RunError, match=r"cannot read .*record\.json"):
        read_json(path)
