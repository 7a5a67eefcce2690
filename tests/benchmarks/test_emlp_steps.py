import pytest
import torch

from benchmarks.emlp_steps import STEPS, TrainingStep
from benchmarks.peers.emlp_steps_ours import build, training_step


def test_the_types_of_the_synthetic_tasks():
    assert {name: step.sizes for name, step in STEPS.items()} == {
        "step O(5) invariant": (10, 1),
        "step O(3) inertia": (20, 9),
    }


@pytest.mark.parametrize("step", STEPS.values(), ids=str)
def test_both_networks_take_a_step_on_the_same_shapes(step: TrainingStep):
    torch.manual_seed(0)
    for network in build(step).values():
        run = training_step(network, step, batch=4)
        losses = [run() for _ in range(3)]
        assert losses[2] < losses[0]
