"""Plans: what a run costs, before it is started."""

import torch

from experiments.composition import compose_run
from experiments.planning import eigenvalue_seconds, prior_step_seconds, probe

SMALL = ("data=digits", "data.resolution=8", "data.train_size=64", "model=ella_conv", "model.alpha=1", "trainer.epochs=4")


def test_a_probe_counts_parameters_and_finds_hours_and_memory():
    quick = probe((*SMALL, "hardware.threads=1"), "quick")
    assert quick.problem == ""
    assert quick.parameters == 1 * 9 + 254 * 9 + 45 + 16 * 64 + 64 + 640 + 10
    assert quick.hours > 0
    assert quick.memory_bytes > 2**20


def test_fits_cost_time_and_memory():
    learned = probe((*SMALL, "hardware.threads=1", "learner=laplace", "learner.burn_in=1", "learner.every=1"), "learned")
    plain = probe((*SMALL, "hardware.threads=1"), "plain")
    assert learned.problem == ""
    assert learned.hours > plain.hours
    assert learned.memory_bytes > plain.memory_bytes


def test_a_run_that_cannot_be_built_says_why():
    found = probe((*SMALL[:1], "data.resolution=7", "model=ella_conv"), "odd")
    assert "power of two" in found.problem


def test_large_decompositions_are_extrapolated_with_the_cube():
    cpu = torch.device("cpu")
    assert eigenvalue_seconds(1, cpu) == 0.0
    assert eigenvalue_seconds(4096, cpu) == 64 * eigenvalue_seconds(1024, cpu)
    assert 0 < prior_step_seconds(cpu) < 1e-4


def test_the_size_of_a_double_network_is_doubled():
    single, double = (probe((*SMALL, f"hardware.precision={kind}"), kind) for kind in ("float32", "float64"))
    assert double.memory_bytes > single.memory_bytes
    assert compose_run([*SMALL, "hardware.precision=float64"]).key == compose_run(SMALL).key
