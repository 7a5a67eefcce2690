"""Whole runs in processes of their own, on scikit-learn's digits."""

import json
import sys
import time
from pathlib import Path

import pytest

from experiments.run import main
from tests.experiments.commands import run, start

SMALL = ("data.train_size=400", "model.hidden=[32]", "trainer.epochs=4", "trainer.batch_size=16", "tracking=off")
SMALL = (*SMALL, "hardware.threads=1")


def only_record(directory: Path) -> dict:
    (path,) = directory.glob("runs/*/record.json")
    return json.loads(path.read_text())


def test_a_run_leaves_its_directory_and_is_not_repeated(tmp_path: Path):
    """Asked to track online without a login: it is said, although Hydra set up the process, and nothing else changes."""
    first = run("run", *SMALL, "tracking=online", directory=tmp_path, NETRC=str(tmp_path / "netrc"))
    assert first.returncode == 0, first.stderr
    (warning,) = first.stderr.splitlines()
    assert warning.startswith("tracking: no login")
    assert list(tmp_path.glob("wandb/offline-run-*"))
    record = only_record(tmp_path)
    assert record["metrics"]["test/accuracy"] > 0.7
    trained, tested = {"train/loss", "train/accuracy"}, {"test/accuracy", "test/error", "test/nll", "test/ece"}
    assert set(record["metrics"]) == {*trained, *tested, "parameters"}
    assert record["data"]["fingerprint"]
    assert record["environment"]["threads"] == 1
    assert record["seconds"] > 0
    assert record["peak_memory_bytes"] > 2**20
    assert record["command"].startswith("python -m experiments.run data.train_size=400")
    names = {path.name for path in next(tmp_path.glob("runs/*")).iterdir()}
    assert {"config.yaml", "metrics.jsonl", "record.json"} <= names
    assert "checkpoint.pt" not in names
    second = run("run", *SMALL, directory=tmp_path)
    assert second.returncode == 0
    assert "was finished" in second.stdout
    assert only_record(tmp_path) == record


def test_a_run_killed_with_sigkill_and_resumed_ends_with_the_same_bits(tmp_path: Path):
    longer = (*SMALL, "trainer.epochs=40", "execution.checkpoint_seconds=0")
    unbroken, killed = tmp_path / "unbroken", tmp_path / "killed"
    unbroken.mkdir()
    killed.mkdir()
    process = start("run", *longer, directory=killed)
    try:
        while not any(len(path.read_text().splitlines()) >= 15 for path in killed.glob("runs/*/metrics.jsonl")):
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
    finally:
        process.kill()
        process.communicate()
    assert not list(killed.glob("runs/*/record.json"))
    assert list(killed.glob("runs/*/checkpoint.pt"))
    for directory in (unbroken, killed):
        done = run("run", *longer, directory=directory)
        assert done.returncode == 0, done.stderr
    assert only_record(killed)["metrics"] == only_record(unbroken)["metrics"]
    (log,), (other,) = killed.glob("runs/*/metrics.jsonl"), unbroken.glob("runs/*/metrics.jsonl")
    assert log.read_bytes() == other.read_bytes()


def test_a_diverging_run_says_where_and_leaves_no_record(tmp_path: Path):
    done = run("run", *SMALL, "learner.learning_rate=1e30", directory=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: loss became nan at step")
    (failure,) = tmp_path.glob("runs/*/failure.json")
    assert json.loads(failure.read_text())["status"] == "diverged"
    assert not list(tmp_path.glob("runs/*/record.json"))


@pytest.mark.parametrize(
    ("override", "culprit"),
    [
        ("colour=red", "colour"),
        ("trainer.epochs=many", "trainer.epochs"),
        ("data=imagenet", "data=imagenet"),
        ("model={_target_: nowhere.Model}", "model._target_=nowhere.Model"),
        ("data.resolution=-3", "data.resolution"),
        ("paths.runs=/dev/null/runs", "/dev/null/runs"),
    ],
)
def test_bad_input_is_one_line_that_names_the_culprit(tmp_path: Path, monkeypatch, capsys, override: str, culprit: str):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments/run.py", *SMALL, override])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert culprit in line
