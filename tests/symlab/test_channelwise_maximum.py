import pytest
import torch
from torch import nn
from torch.func import vjp, vmap

from symlab.channelwise_maximum import channelwise_maximum, has_channelwise_maximum


def maps_of(height: int = 6, width: int = 8, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    maps = torch.randn(2, 3, height, width, dtype=dtype, generator=generator)
    return maps.contiguous(memory_format=torch.channels_last).requires_grad_()


def maximum(features: torch.Tensor, rectified: bool) -> torch.Tensor:
    return channelwise_maximum(features, features.detach().relu() if rectified else None)


def expected(features: torch.Tensor, rectified: bool) -> torch.Tensor:
    return nn.functional.max_pool2d(features.relu() if rectified else features, 2)


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("extent", [(6, 8), (5, 7), (2, 2)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_torch_with_first_and_second_gradients(extent, rectified, dtype):
    features = maps_of(*extent, dtype)
    results = []
    for found in (maximum(features, rectified), expected(features, rectified)):
        (first,) = torch.autograd.grad(found.sin().sum(), features, create_graph=True)
        (second,) = torch.autograd.grad((first.square() * features).sum(), features, retain_graph=True)
        results.append((found, first, second))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("rectified", [False, True])
def test_the_first_of_equal_entries_counts_and_none_below_zero(rectified):
    features = torch.tensor([[1.0, 1.0], [1.0, 0.0]]).view(1, 1, 2, 2)
    features = torch.cat([features, -features], 1).contiguous(memory_format=torch.channels_last).requires_grad_()
    found, wanted = (torch.autograd.grad(each(features, rectified).sum(), features)[0] for each in (maximum, expected))
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("rectified", [False, True])
def test_what_is_not_a_number_stays_visible(place, rectified):
    features = maps_of(2, 4, torch.float32).detach()
    features[0, 1, place // 2, place % 2] = float("nan")
    assert maximum(features, rectified).isnan().nonzero().tolist() == [[0, 1, 0, 0]]


def test_maps_keep_their_layout():
    features = maps_of()
    found = maximum(features, True)
    (gradient,) = torch.autograd.grad(found.sum(), features)
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in (found, gradient))


@pytest.mark.parametrize("extent", [(6, 8), (5, 7)])
def test_several_gradients_at_once_and_their_gradients(extent):
    features = maps_of(*extent)
    found = maximum(features, True)
    signals = torch.randn(4, *found.shape, dtype=torch.float64)

    def there_and_back(signal: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        placed, transpose = vjp(lambda v: torch.autograd.grad(found, features, v, create_graph=True)[0], signal)
        return placed, transpose(placed.sin())[0]

    together = vmap(there_and_back)(signals)
    for index, signal in enumerate(signals):
        leaf = signal.clone().requires_grad_()
        (placed,) = torch.autograd.grad(found, features, leaf, create_graph=True)
        (back,) = torch.autograd.grad(placed, leaf, placed.detach().sin(), retain_graph=True)
        torch.testing.assert_close((together[0][index], together[1][index]), (placed.detach(), back))


def test_which_tensors_a_loop_can_see():
    features = maps_of(dtype=torch.float32)
    assert has_channelwise_maximum(features)
    assert not has_channelwise_maximum(features.contiguous())
    assert not has_channelwise_maximum(features.to(torch.bfloat16))
    assert not has_channelwise_maximum(features.to("meta"))
