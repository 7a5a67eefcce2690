import pytest
import torch
from torch import nn

from equinas.batch_statistics import BATCH, BatchStatistics, renew_statistics
from equinas.differentiable import DifferentiableSearch
from equinas.evolutionary import EvolutionarySearch
from equinas.network import EquivariantNetwork, MixedNetwork
from equinas.static import StaticTraining
from symlab.errors import ConfigError
from symlab.trainer.batches import epoch_batches
from symlab.trainer.protocol import TrainingPlan

SIZES = {"layers": 2, "channels": 16, "kernel_size": 3, "hidden": 16, "pooled_after": (1,)}


def test_statistics_are_means_over_parts():
    torch.manual_seed(0)
    inputs = torch.randn(BATCH + 20, 3, 4, 4, dtype=torch.float64)
    layer = nn.BatchNorm2d(3, momentum=0.3).double()
    layer.running_mean.fill_(7.0)
    renew_statistics(layer, inputs)
    parts = [inputs[: BATCH // 2 + 10], inputs[BATCH // 2 + 10 :]]
    mean = torch.stack([part.mean((0, 2, 3)) for part in parts]).mean(0)
    variance = torch.stack([part.transpose(0, 1).flatten(1).var(1) for part in parts]).mean(0)
    torch.testing.assert_close(layer.running_mean, mean, rtol=0, atol=1e-12)
    torch.testing.assert_close(layer.running_var, variance, rtol=0, atol=1e-12)
    assert layer.momentum == 0.3


def build(kind, data, size):
    plan = TrainingPlan(len(data.train), 20, 1)
    if kind == "mixed":
        network = MixedNetwork(data.input_shape, data.n_outputs, **SIZES)
        return DifferentiableSearch(network, plan, data, seed=0, statistics_size=size)
    network = EquivariantNetwork(data.input_shape, data.n_outputs, **SIZES)
    if kind == "static":
        return StaticTraining(network, plan, data, torch.optim.SGD, learning_rate=0.5, statistics_size=size)
    return EvolutionarySearch(network, plan, data, statistics_size=size)


@pytest.mark.parametrize("kind", ["static", "mixed", "evolved"])
def test_learners_evaluate_with_the_statistics_of_their_weights(kind, blobs):
    torch.manual_seed(0)
    learner = build(kind, blobs, 40)
    for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=0):
        learner.step(batch)
    learner.end_epoch(0)
    first = learner.model.blocks[0]  # of D4 in all three: two independent channels
    features = first.convolution(blobs.normalise(blobs.train.inputs[:40])).unflatten(1, (-1, 8))
    running = first.normalisation.normalisation.running_mean
    torch.testing.assert_close(running, features.mean((0, 2, 3, 4)).detach(), rtol=0, atol=1e-5)
    before = {name: value.clone() for name, value in learner.model.state_dict().items() if "running" in name}
    BatchStatistics(blobs, 40).renew(learner.model)
    for name, value in learner.model.state_dict().items():
        if "running" in name:
            torch.testing.assert_close(value, before[name], rtol=0, atol=0)


def test_without_a_size_running_averages_stay(blobs):
    network = EquivariantNetwork(blobs.input_shape, blobs.n_outputs, **SIZES)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    BatchStatistics(blobs, None).renew(network)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize("size", [0, 1, 10**6])
def test_a_size_that_does_not_fit_is_refused(size, blobs):
    with pytest.raises(ConfigError, match="statistics_size"):
        BatchStatistics(blobs, size)
