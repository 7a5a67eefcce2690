"""The straightforward gradient and ours are the same, and a request is answered."""

import pytest
import torch

from benchmarks.bench_lila import relative_difference
from benchmarks.lila_plain import plain_copies
from benchmarks.lila_steps import NETWORKS, SAMPLES, answer, build, step_of_exact, step_of_ours, step_of_plain


@pytest.mark.parametrize("network", NETWORKS)
def test_gradients_agree(network):
    found = {}
    for step in (step_of_ours, step_of_plain, step_of_exact):
        gradients: list[torch.Tensor] = []
        step(network, 4, gradients)
        found[step] = gradients[0].tolist()
    assert relative_difference(found[step_of_ours], found[step_of_exact]) < 1e-4
    assert relative_difference(found[step_of_plain], found[step_of_exact]) < 1e-3  # torch's own copies in float32


def test_both_make_the_same_copies():
    learner = build("mlp", 3)
    images = learner.data.normalise(learner.data.train.inputs)
    noise = learner.distribution.noise(3, SAMPLES, torch.Generator().manual_seed(0))
    found = learner.distribution.transform(images, noise)
    torch.testing.assert_close(found, plain_copies(learner.distribution, images, noise), rtol=0, atol=2e-5)


def test_a_request_is_answered():
    found = answer({"network": "cnn", "implementation": "ours", "count": 3, "threads": 1})
    assert found["cpu_seconds"] > 0
    assert len(found["gradient"]) == 6
