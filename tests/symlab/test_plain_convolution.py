import pytest
import torch
from torch import nn

from symlab.plain_convolution import plain_convolution


@pytest.mark.parametrize("padding", [(0, 0), (1, 2), (2, 0)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_equals_torch_with_first_and_second_gradients(padding, layout):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(2, 3, 6, 5, dtype=torch.float64, generator=generator).contiguous(memory_format=layout)
    features.requires_grad_()
    kernel = torch.randn(4, 3, 3, 3, dtype=torch.float64, generator=generator).contiguous(memory_format=layout)
    bias = torch.randn(4, dtype=torch.float64, generator=generator)
    found = plain_convolution(features, kernel, bias, padding)
    expected = nn.functional.conv2d(features, kernel, bias, padding=padding)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    gradients = []
    for outputs in (found, expected):
        (first,) = torch.autograd.grad(outputs.tanh().square().sum(), features, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), features)
        gradients.append((first, second))
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("padding", [(0, 0), (2, 1), (2, 4)])
@pytest.mark.parametrize("channels", [(1, 3), (3, 1)])
def test_one_channel(channels, padding):
    """Gradients in grey images, and convolutions to one channel."""
    features = torch.randn(2, channels[0], 4, 6, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(channels[1], channels[0], 3, 5, dtype=torch.float64)
    results = []
    for outputs in (
        plain_convolution(features, kernel, None, padding),
        nn.functional.conv2d(features, kernel, padding=padding),
    ):
        results.append((outputs, *torch.autograd.grad(outputs.tanh().square().sum(), features)))
    torch.testing.assert_close(results[0], results[1], rtol=1e-12, atol=1e-12)


def test_a_kernel_as_large_as_the_map():
    features = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    kernel, bias = torch.randn(6, 3, 4, 5, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
    found = plain_convolution(features, kernel, bias, (0, 0))
    torch.testing.assert_close(found, nn.functional.conv2d(features, kernel, bias), rtol=1e-12, atol=1e-12)


def test_gradient_of_a_gradient_alone():
    features = torch.randn(1, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(3, 2, 3, 3, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(lambda x: plain_convolution(x, kernel, None, (1, 1)), (features,))
