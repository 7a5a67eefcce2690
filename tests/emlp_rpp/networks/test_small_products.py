import pytest
import torch

from emlp_rpp.networks.small_products import multiply_each

SHAPES = [(3, 3, 34), (9, 9, 11), (3, 27, 3), (27, 3, 34), (1, 1, 1), (1, 2, 500), (20, 1, 20)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_are_those_of_each_sample(shape: tuple[int, int, int], dtype: torch.dtype):
    rows, inner, columns = shape
    a, b = torch.randn(4, rows, inner, dtype=dtype), torch.randn(4, columns, inner, dtype=dtype).mT
    found = multiply_each(a, b)
    assert found.shape == (4, rows, columns)
    torch.testing.assert_close(found, torch.stack([a[n] @ b[n] for n in range(4)]))


@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 3, 2), (8, 9, 7)], ids=str)
def test_first_and_second_derivatives(shape: tuple[int, int, int]):
    rows, inner, columns = shape
    a = torch.randn(2, rows, inner, dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, inner, columns, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(multiply_each, (a, b))
    assert torch.autograd.gradgradcheck(multiply_each, (a, b))


def test_gradients_of_one_factor_alone():
    a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    for wanted in (a, b):
        wanted.requires_grad_()
        multiply_each(a, b).sum().backward()
        assert wanted.grad is not None
        wanted.requires_grad_(False)
