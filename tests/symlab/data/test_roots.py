import os
from pathlib import Path
from typing import Any

import pytest

from symlab.data.roots import find_file, make_writable, parse_roots
from symlab.errors import DataError


def test_roots_are_a_path_list(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert parse_roots(f"{first}{os.pathsep}{second}") == (first, second)


def test_the_home_directory_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_roots("~/data") == (tmp_path / "data",)


@pytest.mark.parametrize("root", ["", os.pathsep])
def test_an_empty_root_is_refused(root: str) -> None:
    with pytest.raises(DataError, match=r"data\.root is empty"):
        parse_roots(root)


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(DataError, match=rf"data root {path} cannot be read \(Not a directory\)"):
        parse_roots(str(path))


def test_a_root_without_permission_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(path: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match=rf"data root {tmp_path} cannot be read \(Permission denied\)"):
        parse_roots(str(tmp_path))


def test_the_first_root_wins_then_the_first_candidate(tmp_path: Path) -> None:
    roots = (tmp_path / "a", tmp_path / "b")
    for path in ("a/second", "b/first", "b/second"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    assert find_file(roots, ["first", "second"]) == tmp_path / "a/second"
    assert find_file(roots[1:], ["first", "second"]) == tmp_path / "b/first"
    assert find_file(roots, ["third"]) is None


def test_a_root_is_created(tmp_path: Path) -> None:
    make_writable(tmp_path / "a/b")
    assert (tmp_path / "a/b").is_dir()


def test_a_root_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/data cannot be written \(Not a directory\)"):
        make_writable(tmp_path / "file/data")


def test_a_read_only_root_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(DataError, match=rf"data root {tmp_path} cannot be written \(Permission denied\)"):
        make_writable(tmp_path)
