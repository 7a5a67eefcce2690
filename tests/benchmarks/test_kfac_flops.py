"""Counts against hand-made ones: Gigaflops of the three workloads, and one linear layer."""

import pytest

from benchmarks.kfac_flops import layer_sizes, naive_flops, optimised_flops
from benchmarks.kfac_workloads import WORKLOADS, build_network


@pytest.mark.parametrize(("name", "naive", "optimised"), [("mlp", 37, 23), ("cnn", 293, 180), ("ella", 345, 215)])
def test_counts_of_the_workloads(name, naive, optimised):
    samples = WORKLOADS[name].samples
    assert round(naive_flops(name, samples) / 1e9) == naive
    assert optimised_flops(name, samples) / 1e9 == pytest.approx(optimised, abs=1)


def test_convolutions_count_their_positions_and_lags():
    first = layer_sizes(build_network("cnn"), (3, 32, 32))[0]
    assert (first.inputs, first.outputs, first.positions, first.channels, first.lags) == (27, 32, 1024, 3, 13)
