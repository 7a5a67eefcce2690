import pytest
import torch
from torch import nn
from torch.func import vmap

from symlab.window_maximum import window_maximum, window_of

N_DATA, COPIES = 2, 3


def features_of(height: int = 6, width: int = 5, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(N_DATA * COPIES, 2, height, width, dtype=dtype, generator=generator).requires_grad_()


@pytest.mark.parametrize("window", [(2, 2), (3, 2), (1, 1)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_torch_with_first_and_second_gradients(window, layout, dtype):
    leaf = features_of(dtype=dtype)
    features = leaf.contiguous(memory_format=layout)
    results = []
    for found in (window_maximum(features, window), nn.functional.max_pool2d(features, window)):
        (first,) = torch.autograd.grad(found.tanh().square().sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad((first.square() * leaf).sum(), leaf, retain_graph=True)
        results.append((found, first, second))
    torch.testing.assert_close(results[0], results[1])


def test_the_first_of_equal_entries_counts():
    features = torch.zeros(1, 1, 2, 2, requires_grad=True)
    (found,) = torch.autograd.grad(window_maximum(features, (2, 2)).sum(), features)
    (expected,) = torch.autograd.grad(nn.functional.max_pool2d(features, 2).sum(), features)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("place", range(4))
def test_what_is_not_a_number_stays_visible(place):
    features = torch.randn(1, 1, 2, 4)
    features[0, 0, place // 2, place % 2] = float("nan")
    assert window_maximum(features, (2, 2)).isnan().tolist() == [[[[True, False]]]]


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_gradients_of_a_common_shift_are_summed_over_copies(layout):
    features = features_of().detach().contiguous(memory_format=layout).requires_grad_()
    shift = torch.zeros(N_DATA, *features.shape[1:], dtype=torch.float64, requires_grad=True)
    shifted = features + shift.repeat_interleave(COPIES, 0)
    results = []
    for found in (window_maximum(features, (2, 2), shift), nn.functional.max_pool2d(shifted, 2)):
        (first,) = torch.autograd.grad((found.tanh() ** 3).sum(), shift, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), features)
        results.append((found, first, second))
    torch.testing.assert_close(results[0], results[1], rtol=1e-12, atol=1e-12)


def test_several_gradients_at_once():
    features = features_of()
    found = window_maximum(features, (2, 2))
    signals = torch.randn(4, *found.shape, dtype=torch.float64)
    (together,) = vmap(lambda signal: torch.autograd.grad(found, features, signal, retain_graph=True))(signals)
    for signal, of_signal in zip(signals, together, strict=True):
        torch.testing.assert_close(of_signal, torch.autograd.grad(found, features, signal, retain_graph=True)[0])


def test_windows_that_lie_side_by_side():
    assert window_of(nn.MaxPool2d(2)) == (2, 2)
    assert window_of(nn.MaxPool2d((2, 3))) == (2, 3)
    others = [nn.MaxPool2d(3, 1), nn.MaxPool2d(3, padding=1), nn.MaxPool2d(2, dilation=2), nn.MaxPool2d(2, ceil_mode=True)]
    assert [window_of(module) for module in others] == [None] * 4
