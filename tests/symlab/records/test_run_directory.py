import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from symlab.errors import RunError
from symlab.records import RunDirectory, RunLockedError


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    directory = RunDirectory(tmp_path, "abc")
    directory.path.mkdir()
    return directory


def hold(runs: Path, ready) -> None:
    with RunDirectory(runs, "abc").locked():
        ready.set()
        time.sleep(60)


def test_a_second_process_is_told_who_has_the_run_and_takes_over_when_it_is_killed(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=hold, args=(tmp_path, ready))
    holder.start()
    assert ready.wait(60)
    directory = RunDirectory(tmp_path, "abc")
    assert directory.is_locked()
    with pytest.raises(RunLockedError, match=f"process {holder.pid} on"), directory.locked():
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert not directory.is_locked()
    with directory.locked():
        assert str(os.getpid()) in directory.owner()


def test_a_run_is_finished_when_its_record_exists(directory: RunDirectory):
    directory.save_checkpoint({"step": 1})
    directory.fail({"status": "diverged"})
    assert directory.record() is None
    assert directory.failure() == {"status": "diverged"}
    assert not directory.checkpoint_path.exists()
    directory.save_checkpoint({"step": 1})
    directory.finish({"metrics": {"test/accuracy": 0.5}})
    assert directory.record() == {"metrics": {"test/accuracy": 0.5}}
    assert directory.failure() is None
    assert not directory.checkpoint_path.exists()


def test_arrays_come_back_as_they_were(directory: RunDirectory):
    assert directory.arrays() == {}
    directory.write_arrays({"eta": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "b"])})
    found = directory.arrays()
    assert np.array_equal(found["eta"], np.arange(6.0).reshape(2, 3))
    assert found["names"].tolist() == ["a", "b"]


def test_loading_a_checkpoint_cuts_the_log_back_to_it(directory: RunDirectory):
    directory.append_metrics({"epoch": 0})
    directory.save_checkpoint({"weights": torch.arange(3), "step": 7})
    directory.append_metrics({"epoch": 1})
    state = directory.load_checkpoint()
    assert state is not None
    assert state["step"] == 7
    assert torch.equal(state["weights"], torch.arange(3))
    assert directory.metrics() == [{"epoch": 0}]


def test_without_a_checkpoint_the_log_starts_empty(directory: RunDirectory):
    directory.append_metrics({"epoch": 0})
    assert directory.load_checkpoint() is None
    assert directory.metrics() == []


def test_a_line_cut_short_by_a_kill_is_left_out(directory: RunDirectory):
    directory.append_metrics({"epoch": 0})
    with open(directory.metrics_path, "ab") as file:
        file.write(b'{"epoch": 1, "tr')
    assert directory.metrics() == [{"epoch": 0}]


def test_a_damaged_checkpoint_is_named(directory: RunDirectory):
    directory.checkpoint_path.write_bytes(b"not a checkpoint")
    with pytest.raises(RunError, match=r"checkpoint\.pt is damaged: delete it"):
        directory.load_checkpoint()
