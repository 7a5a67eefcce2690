import pytest
import torch
from torch import Tensor
from torch.func import vmap

from emlp_rpp.networks.small_products import sum_products

CASES = [  # shapes of a and b, axes that are summed
    ((3, 1, 2, 4), (1, 5, 2, 4), (2,)),
    ((3, 1, 2, 4), (3, 5, 1, 4), (0, 2)),
    ((2, 3, 4), (2, 3, 4), (0, 1)),
    ((2, 1, 4), (1, 3, 4), ()),
    ((9, 1, 3, 3, 300), (9, 34, 1, 3, 300), (0, 3)),  # shared out among threads
    ((1, 34, 1, 300), (9, 34, 3, 300), (1,)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("a_shape", "b_shape", "axes"), CASES)
def test_they_are_sums_of_the_whole_product(a_shape: tuple, b_shape: tuple, axes: tuple, dtype: torch.dtype):
    a, b = torch.randn(a_shape, dtype=dtype), torch.randn(b_shape, dtype=dtype)
    expected = (a * b).sum(axes) if axes else a * b
    torch.testing.assert_close(sum_products(a, b, axes), expected, atol=1e-4 if dtype == torch.float32 else 1e-11, rtol=0)


@pytest.mark.parametrize("summands", range(1, 10))
def test_any_number_of_summands(summands: int):
    a, b = torch.randn(summands, 2, 5, dtype=torch.float64), torch.randn(summands, 1, 5, dtype=torch.float64)
    torch.testing.assert_close(sum_products(a, b, (0,)), (a * b).sum(0), atol=1e-12, rtol=0)


def test_tensors_that_are_not_contiguous_or_stand_for_several():
    a, b = torch.randn(5, 3, 2, dtype=torch.float64), torch.randn(1, 5, dtype=torch.float64).expand(3, 5)
    expected = (a.permute(2, 1, 0) * b).sum(1)
    torch.testing.assert_close(sum_products(a.permute(2, 1, 0), b[None], (1,)), expected, atol=1e-12, rtol=0)
    several = vmap(lambda each: sum_products(each.permute(1, 0), b, (0,)))(a.permute(2, 0, 1))
    torch.testing.assert_close(several, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("written", [0, 10**6], ids=["loop", "written down"])
@pytest.mark.parametrize(("a_shape", "b_shape", "axes"), CASES[:4])
def test_first_and_second_derivatives(a_shape: tuple, b_shape: tuple, axes: tuple, written: int, monkeypatch):
    monkeypatch.setattr("emlp_rpp.networks.small_products._WRITTEN", written)
    a = torch.randn(a_shape, dtype=torch.float64, requires_grad=True)
    b = torch.randn(b_shape, dtype=torch.float64, requires_grad=True)

    def function(x: Tensor, y: Tensor) -> Tensor:
        return sum_products(x, y, axes)

    assert torch.autograd.gradcheck(function, (a, b))
    assert torch.autograd.gradgradcheck(function, (a, b))


def test_gradients_of_one_factor_alone():
    a, b = torch.randn(2, 3, 4), torch.randn(2, 1, 4)
    for wanted in (a, b):
        wanted.requires_grad_()
        sum_products(a, b, (0,)).sum().backward()
        assert wanted.grad is not None
        wanted.requires_grad_(False)
