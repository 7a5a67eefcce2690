from pathlib import Path

import pytest

from symlab.data.__main__ import Outcome, fetch_all, main, render
from symlab.errors import DataError


def fail() -> tuple[int, str]:
    raise DataError("bad cannot be had: (1) local: no file")


def test_one_failure_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = fetch_all({"bad": fail, "good": lambda: (1234, "somewhere")})
    assert [outcome.examples for outcome in outcomes] == [0, 1234]
    assert capsys.readouterr().out.splitlines() == ["[1/2] bad", "[2/2] good"]


def test_the_table() -> None:
    text = render([Outcome("good", 1234, 1.5, "somewhere"), Outcome("bad", 0, 2.0, "", "the reason")])
    lines = text.splitlines()
    assert lines[0].split() == ["data", "set", "examples", "seconds", "origin"]
    assert lines[1].split() == ["good", "1,234", "1.5", "somewhere"]
    assert lines[2].split() == ["bad", "missing", "2.0", "see", "below"]
    assert lines[-1] == "missing bad: the reason"


def test_digits_can_always_be_had(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path), "digits"]) == 0
    assert "1,797" in capsys.readouterr().out


def test_a_missing_data_set_is_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path), "isic2019"]) == 1
    assert "missing isic2019: isic2019 cannot be had" in capsys.readouterr().out


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["imagenet"])
    assert "unknown data set imagenet" in capsys.readouterr().err
