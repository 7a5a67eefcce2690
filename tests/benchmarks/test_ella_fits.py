"""The straightforward fit and ours end at the same marginal likelihood."""

import math

import pytest

from benchmarks.bench_ella import WORKLOADS
from benchmarks.ella_fits import answer, build_model, fit_ours, fit_plain, random_images


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_both_ways_end_at_the_same_value(workload):
    data = random_images(12, resolution=16)
    model = build_model(workload.model, 1, data)
    assert fit_ours(model, data) == pytest.approx(fit_plain(model, data), rel=1e-4)


def test_a_request_is_answered_in_cpu_seconds():
    request = {"model": "ella_conv", "alpha": 1, "samples": 4, "threads": 1, "repeats": 1, "implementation": "ours"}
    found = answer(request)
    assert found["cpu_seconds"] > 0
    assert math.isfinite(found["value"])
