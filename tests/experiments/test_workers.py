import os
import signal
import time
from pathlib import Path

import pytest

from experiments.composition import compose_run
from experiments.workers import Job, Result, WorkerPool
from symlab.errors import RunError
from symlab.records import RunDirectory

SMALL = ("data.train_size=64", "model.hidden=[4]", "trainer.epochs=1", "tracking=off", "execution.progress=none")


def make_job(runs: Path, *overrides: str) -> Job:
    overrides = (*SMALL, f"paths.runs={runs}", *overrides)
    return Job(compose_run(overrides).key, overrides)


def collect_all(pool: WorkerPool, count: int) -> list[Result]:
    results: list[Result] = []
    deadline = time.monotonic() + 200
    while len(results) < count:
        assert time.monotonic() < deadline
        results += pool.collect(1.0)
    return results


def test_one_worker_computes_and_reports_each_kind_of_end(tmp_path: Path):
    """Finished, failed with its log, held by another process, and killed; the pool goes on after each."""
    good, bad = make_job(tmp_path), make_job(tmp_path, "learner.learning_rate=1e30", "trainer.epochs=5")
    held, endless = make_job(tmp_path, "seed=1"), make_job(tmp_path, "trainer.epochs=100000")
    pool = WorkerPool(1, tmp_path)
    try:
        pool.submit(good)
        assert not pool.has_room
        assert collect_all(pool, 1) == [Result(good, "finished")]
        assert RunDirectory(tmp_path, good.key).record() is not None

        pool.submit(bad)
        (result,) = collect_all(pool, 1)
        assert result.outcome == "failed"
        assert "became nan" in result.message
        assert "became nan" in RunDirectory(tmp_path, bad.key).log_path.read_text()

        with RunDirectory(tmp_path, held.key).locked():
            pool.submit(held)
            (result,) = collect_all(pool, 1)
        assert result.outcome == "locked"
        assert str(os.getpid()) in result.message

        pool.submit(endless)
        log = RunDirectory(tmp_path, endless.key).metrics_path
        while not log.exists():
            time.sleep(0.05)
        os.kill(pool.busy[0].process.pid, signal.SIGKILL)
        (result,) = collect_all(pool, 1)
        assert result.outcome == "failed"
        assert "SIGKILL" in result.message

        pool.submit(held)
        assert collect_all(pool, 1) == [Result(held, "finished")]
    finally:
        pool.close()


def test_a_pool_without_workers_is_refused(tmp_path: Path):
    with pytest.raises(RunError, match="jobs=0"):
        WorkerPool(0, tmp_path)
