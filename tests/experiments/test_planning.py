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


def test_learning_invariances_costs_fits_and_copies():
    network = (
        "data=digits",
        "data.train_size=64",
        "trainer.epochs=3",
        "hardware.threads=1",
        "model=resnet_8_8",
        "model.width=2",
    )
    one_copy, augerino, lila = (
        probe((*network, *learner), learner[0])
        for learner in (
            ("learner=augerino", "learner.samples=1"),
            ("learner=augerino", "learner.samples=8"),
            ("learner=lila", "learner.samples=8", "learner.burn_in=1", "learner.fit_size=40"),
        )
    )
    assert [found.problem for found in (one_copy, augerino, lila)] == ["", "", ""]
    assert lila.hours > augerino.hours
    assert one_copy.memory_bytes < augerino.memory_bytes < lila.memory_bytes


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


def test_equivariant_networks_can_be_planned():
    small = ("model.network.channels=32", "model.network.layers=1", "trainer.epochs=2", "hardware.threads=1", "tracking=off")
    found = probe(("data=inertia", "data.train_size=20", "model=tensor_map", "learner=regression", *small), "inertia")
    assert found.problem == ""
    assert found.parameters > 0
    assert found.hours > 0


def test_invariant_networks_can_be_planned_and_more_transformations_cost_memory():
    small = ("data=digits", "data.train_size=64", "trainer.epochs=2", "hardware.threads=1", "learner=invariant_weights")
    few, many = (
        probe((*small, "model=invariant_relu", "model.basis.units=32", f"model.sampler.samples={count}"), "relu")
        for count in (2, 64)
    )
    assert [few.problem, many.problem] == ["", ""]
    assert few.parameters == many.parameters == 6 + 32 * 64 + 32 + 10 * 32 + 10 * 32 * 32
    assert many.memory_bytes > few.memory_bytes


def test_a_plan_does_not_train_the_agent_that_would_record_its_data(tmp_path):
    overrides = ("data=locomotion", "model=transition_mlp", "learner=transitions", f"data.root={tmp_path}")
    assert "not recorded yet" in probe(overrides, "a run").problem
    assert list(tmp_path.iterdir()) == []
