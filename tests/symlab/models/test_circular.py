import pytest
import torch
from torch import nn

from symlab.circular_convolution import circular_convolution
from symlab.models.circular import CircularConvolution


def twins(kernel_size: int) -> tuple[nn.Conv2d, CircularConvolution]:
    torch.manual_seed(0)
    reference = nn.Conv2d(3, 4, kernel_size, padding=kernel_size // 2, padding_mode="circular").double()
    ours = CircularConvolution(3, 4, kernel_size).double()
    ours.load_state_dict(reference.state_dict())
    return reference, ours


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_value_and_gradients_are_those_of_torch(kernel_size, layout):
    reference, ours = twins(kernel_size)
    features = torch.randn(2, 3, 4, 6, dtype=torch.float64).contiguous(memory_format=layout).requires_grad_()
    signal = torch.randn(2, 4, 4, 6, dtype=torch.float64)
    results = []
    for module in (reference, ours.to(memory_format=layout)):
        output = module(features)
        results.append((output, *torch.autograd.grad(output, [features, *module.parameters()], signal)))
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_second_derivatives():
    features = torch.randn(1, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x, w: circular_convolution(x, w).tanh(), (features, kernel))


def test_commutes_with_every_translation():
    _, ours = twins(3)
    features = torch.randn(1, 3, 4, 6, dtype=torch.float64)
    for down in range(4):
        for right in range(6):
            moved = ours(features.roll((down, right), (2, 3)))
            torch.testing.assert_close(moved, ours(features).roll((down, right), (2, 3)), rtol=1e-12, atol=1e-12)


def test_under_vmap():
    _, ours = twins(3)
    features = torch.randn(5, 2, 3, 4, 6, dtype=torch.float64)
    for layout in (torch.contiguous_format, torch.channels_last):
        ours = ours.to(memory_format=layout)
        expected = torch.stack([ours(each.contiguous(memory_format=layout)) for each in features])
        torch.testing.assert_close(torch.func.vmap(ours)(features), expected, rtol=1e-12, atol=1e-12)
