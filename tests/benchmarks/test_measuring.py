"""Memory is that of the call, time is in order, sgemm is a speed."""

import time

import torch

from benchmarks.measuring import _sample_extra_memory, describe_machine, measure_extra_memory, measure_seconds, measure_sgemm

MEGABYTE = 10**6


def _touch_and_wait() -> None:
    torch.ones(25 * MEGABYTE)
    time.sleep(0.02)


def test_measures_one_entry_for_each_repeat_after_the_warm_ups():
    calls = []
    seconds = measure_seconds(lambda: calls.append(0), repeats=3, warmups=2)
    assert len(seconds) == 3
    assert len(calls) == 5
    assert min(seconds) >= 0


def test_extra_memory_is_the_peak_of_the_call():
    assert 90 * MEGABYTE < measure_extra_memory(_touch_and_wait) < 130 * MEGABYTE


def test_sampled_memory_sees_what_lasts():
    kept = []

    def keep() -> None:
        kept.append(torch.ones(25 * MEGABYTE))
        time.sleep(0.05)

    assert 90 * MEGABYTE < _sample_extra_memory(keep) < 130 * MEGABYTE


def test_memory_that_was_freed_but_kept_counts():
    """As in a process that trains: the block of the first call may serve the second."""
    for _ in range(2):
        assert 90 * MEGABYTE < _sample_extra_memory(_touch_and_wait) < 130 * MEGABYTE


def test_sgemm_is_positive_for_each_shape():
    assert all(speed > 0 for speed in measure_sgemm([(16, 16, 16), (8, 4, 2)], repeats=1).values())


def test_the_machine_is_described():
    assert {"processor", "threads", "torch"} <= set(describe_machine())
