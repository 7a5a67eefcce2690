"""Workloads are the same everywhere, and ``ella`` is the network of the package ella."""

import pytest
import torch

from benchmarks.kfac_workloads import ALPHA, CLASSES, WORKLOADS, build_data, build_network, forward_backward, split_batches
from ella.layers.convolution import Convolution
from ella.network import Network


@pytest.mark.parametrize("name", WORKLOADS)
def test_networks_and_data_are_reproducible(name):
    first, second = build_network(name), build_network(name)
    inputs, labels = build_data(name, 4)
    torch.testing.assert_close(first(inputs), second(inputs), rtol=0, atol=0)
    assert first(inputs).shape == (4, CLASSES)
    assert torch.equal(inputs, build_data(name, 4)[0])
    assert torch.equal(labels, build_data(name, 4)[1])


def test_ella_equals_the_package_ella():
    plain = build_network("ella")
    network = Network((3, 32, 32), CLASSES, Convolution, ALPHA)
    for ours, theirs in zip(plain.parameters(), network.parameters(), strict=True):
        theirs.data.copy_(ours)
    inputs, _ = build_data("ella", 3)
    torch.testing.assert_close(plain(inputs), network(inputs))


def test_forward_backward_is_the_gradient_of_the_mean_loss():
    network, data = build_network("mlp"), build_data("mlp", 7)
    forward_backward(network, split_batches(data, 3))
    expected = torch.autograd.grad(torch.nn.functional.cross_entropy(network(data[0]), data[1]), network[0].weight)[0]
    torch.testing.assert_close(network[0].weight.grad, expected)
