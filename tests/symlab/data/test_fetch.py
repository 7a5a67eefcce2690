import hashlib
import logging
import multiprocessing
import time
from pathlib import Path

import pytest

from symlab.data.checksums import Pinned
from symlab.data.fetch import Origin, obtain
from symlab.data.watched import AttemptError, run_watched
from symlab.errors import DataError

CONTENTS = {"first": b"1111", "second": b"2222"}
FILES = tuple(Pinned(name, f"sha256:{hashlib.sha256(data).hexdigest()}") for name, data in CONTENTS.items())


def write_good(directory: Path, silence: float) -> None:
    for name, data in CONTENTS.items():
        (directory / name).write_bytes(data)


def write_damaged(directory: Path, silence: float) -> None:
    write_good(directory, silence)
    (directory / "second").write_bytes(b"2223")


def refuse(directory: Path, silence: float) -> None:
    raise AttemptError("the host is unreachable")


def never_call(directory: Path, silence: float) -> None:
    raise AssertionError("this origin must not be tried")


def hang(directory: Path, silence: float) -> None:
    run_watched(["sleep", "60"], directory, silence)


def write_slowly(directory: Path, silence: float) -> None:
    (directory.parent / "fetched").open("a").write("x")
    time.sleep(1.0)
    write_good(directory, silence)


GOOD, NEVER = Origin("good", write_good), Origin("never", never_call)


def test_fetched_files_are_stored_and_found_the_second_time(tmp_path: Path) -> None:
    obtained = obtain("toy", FILES, [GOOD, NEVER], str(tmp_path))
    assert obtained.origin == "good"
    assert {name: path.read_bytes() for name, path in obtained.paths.items()} == CONTENTS
    again = obtain("toy", FILES, [NEVER], str(tmp_path))
    assert again.paths == obtained.paths
    assert again.origin == f"local {tmp_path / 'toy'}"


def test_nothing_but_the_files_and_the_lock_is_left(tmp_path: Path) -> None:
    obtain("toy", FILES, [Origin("bad", write_damaged), GOOD], str(tmp_path))
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        ".toy.lock",
        "toy",
        "toy/first",
        "toy/second",
    ]


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".toy-abc").mkdir()
    obtain("toy", FILES, [GOOD], str(tmp_path))
    assert not (tmp_path / ".toy-abc").exists()


def test_a_later_root_is_searched_and_not_written(tmp_path: Path) -> None:
    write_good(tmp_path, 0)
    (tmp_path / "b/toy").mkdir(parents=True)
    write_good(tmp_path / "b/toy", 0)
    obtained = obtain("toy", FILES, [NEVER], f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    assert obtained.paths["first"] == tmp_path / "b/toy/first"
    assert not (tmp_path / "a").exists()


def test_another_layout_is_found(tmp_path: Path) -> None:
    (tmp_path / "TOY/raw").mkdir(parents=True)
    write_good(tmp_path / "TOY/raw", 0)
    assert obtain("toy", FILES, [NEVER], str(tmp_path), folders=("TOY/raw",)).origin == f"local {tmp_path / 'TOY/raw'}"


def test_downloads_go_into_the_first_root(tmp_path: Path) -> None:
    obtained = obtain("toy", FILES, [GOOD], f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    assert obtained.paths["first"] == tmp_path / "a/toy/first"


def test_a_client_finds_its_directory_under_a_relative_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients run inside the directory and are given paths in it."""

    def copy(directory: Path, silence: float) -> None:
        write_good(directory, silence)
        run_watched(["cp", str(directory / "first"), str(directory / "copied")], directory, silence)

    monkeypatch.chdir(tmp_path)
    assert obtain("toy", FILES, [Origin("client", copy)], "data").paths["first"] == Path("data/toy/first")


def test_the_next_origin_is_tried_and_the_failure_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert obtain("toy", FILES, [Origin("bad", refuse), GOOD], str(tmp_path)).origin == "good"
    assert "toy: bad failed: the host is unreachable" in caplog.text


def test_damaged_files_are_not_stored(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="second has checksum sha256"):
        obtain("toy", FILES, [Origin("bad", write_damaged)], str(tmp_path))
    assert not (tmp_path / "toy").exists()


def test_when_all_fail_each_is_listed_on_one_line(tmp_path: Path) -> None:
    origins = [Origin("unreachable", refuse), Origin("damaged", write_damaged), Origin("silent", hang)]
    with pytest.raises(DataError) as caught:
        obtain("toy", FILES, origins, str(tmp_path), silence=0.3)
    message = str(caught.value)
    assert "\n" not in message
    assert f"(1) local ({tmp_path}): no toy/first and 1 more" in message
    assert "(2) unreachable: the host is unreachable" in message
    assert "(3) damaged: second has checksum" in message
    assert "(4) silent: silent for 0.3 s, killed" in message
    assert f"put first, second into {tmp_path / 'toy'}" in message


def test_the_data_sets_own_advice_is_given(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Download it by hand\.$"):
        obtain("toy", FILES, [], str(tmp_path), advice="Download it by hand.")


def test_a_root_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"data root .*/file cannot be read \(Not a directory\)"):
        obtain("toy", FILES, [GOOD], str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"data root .*/file/data cannot be"):
        obtain("toy", FILES, [GOOD], str(tmp_path / "file/data"))


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    def fill(directory: Path, silence: float) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        obtain("toy", FILES, [Origin("full", fill), NEVER], str(tmp_path))


def _obtain(root: str) -> str:
    return obtain("toy", FILES, [Origin("slow", write_slowly)], root).origin


def test_two_processes_fetch_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        origins = pool.map(_obtain, [str(tmp_path)] * 2, chunksize=1)
    assert sorted(origins) == [f"local {tmp_path / 'toy'}", "slow"]
    assert (tmp_path / "fetched").read_text() == "x"
