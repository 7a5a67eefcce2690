import pytest
import torch
from torch import nn

from symlab.kfac.shared_shift import SharedShift, is_known_activation, is_plain_max_pooling

N_DATA, COPIES = 2, 3


def outputs_of_a_layer() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(N_DATA * COPIES, 2, 5, 6, dtype=torch.float64, generator=generator, requires_grad=True)


def compare(found, expected, outputs, shared) -> None:
    """Values, sums over copies of first gradients, and gradients of these."""
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    (of_copies,) = torch.autograd.grad(expected, outputs, create_graph=True)
    (of_points,) = torch.autograd.grad(found, shared.shift, create_graph=True)
    summed = of_copies.unflatten(0, (N_DATA, COPIES)).sum(1)
    torch.testing.assert_close(of_points, summed, rtol=1e-12, atol=1e-12)
    seconds = [torch.autograd.grad(first.square().sum(), outputs, retain_graph=True)[0] for first in (of_points, summed)]
    torch.testing.assert_close(seconds[0], seconds[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "pool", [nn.MaxPool2d(2), nn.MaxPool2d(3, 1, padding=1), nn.MaxPool2d(2, dilation=2), nn.MaxPool2d(2, ceil_mode=True)]
)
def test_pooled_and_read_otherwise_too(pool):
    """Values, sums over copies of first gradients, and gradients of these, against autograd copy by copy."""
    outputs = outputs_of_a_layer()
    shared = SharedShift(outputs, N_DATA)
    found, expected = [
        (pooled.tanh() ** 3).sum() + read.cos().sum()
        for pooled, read in ((shared.pool(pool), shared.shifted), (pool(outputs), outputs))
    ]
    compare(found, expected, outputs, shared)


@pytest.mark.parametrize("activation", [nn.Tanh(), nn.ReLU(), nn.Sigmoid()])
@pytest.mark.parametrize("width", [(7,), (2, 5, 6)])
def test_activated_and_averaged(activation, width):
    """A function of the mean over copies, of all copies, and of the layer's output itself, against autograd copy by copy."""
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(N_DATA * COPIES, *width, dtype=torch.float64, generator=generator, requires_grad=True)
    shared = SharedShift(outputs, N_DATA)
    activated = shared.activate(activation)
    plain = activation(outputs)
    averages = shared.average(), plain.unflatten(0, (N_DATA, COPIES)).mean(1)
    compare(*((average.exp() ** 2).sum() for average in averages), outputs, shared)
    compare(*((values.exp() ** 2).sum() for values in (activated, plain)), outputs, shared)
    compare(*((values.exp() ** 2).sum() for values in (shared.shifted, outputs)), outputs, shared)


def test_only_activations_with_a_derivative_by_their_value_are_known():
    assert is_known_activation(nn.Tanh())
    assert not is_known_activation(nn.ReLU(inplace=True))
    assert not is_known_activation(nn.GELU())


def test_only_plain_max_pooling_is_known():
    assert is_plain_max_pooling(nn.MaxPool2d(2))
    assert not is_plain_max_pooling(nn.MaxPool2d(2, return_indices=True))
    assert not is_plain_max_pooling(nn.AvgPool2d(2))
