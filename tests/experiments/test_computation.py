"""Runs that are computed in one go instead of trained."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.composition import RunConfig, compose_run
from experiments.planning import probe
from experiments.run import execute

OVERRIDES = ("computation=emlp_rank", "computation/group=so", "computation.p=4", "tracking=off")


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    return compose_run([*OVERRIDES, f"paths.runs={tmp_path}"])


def test_a_computed_run_leaves_a_record_like_any_other(config: RunConfig, tmp_path: Path):
    record = execute(config)
    assert record["metrics"]["rank"] == 3
    assert record["remark"] == ""
    assert record["key"] == config.key
    assert (tmp_path / config.key / "record.json").exists()


def test_a_finished_one_is_read(config: RunConfig, monkeypatch: pytest.MonkeyPatch):
    first = execute(config)
    monkeypatch.setattr("experiments.run.compute", lambda *_: pytest.fail("computed again"))
    assert execute(config) == first
    assert replace(config, seed=1).key != config.key


def test_a_plan_says_that_there_is_nothing_to_measure():
    assert "computed in one go" in probe(OVERRIDES, "cell").problem
