"""Transformed weights, or the adjoint transformation of the inputs: the same numbers, and the same gradient in eta."""

import math

import pytest
import torch
from torch import Tensor

from invariant_weights.products import adjoint_copies, products_on_inputs, products_on_weights, resample
from invariant_weights.transformations import AffineTransformations
from tests.oracles import finite_difference

ETA = (0.35, -0.2, 1.1, 0.4, -0.3, 0.25)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def one_pixel_at_a_time(filters: Tensor, maps: Tensor) -> Tensor:
    """Oracle: every pixel of every transformed filter by its definition."""
    count, channels, height, width = filters.shape
    banks = torch.zeros(len(maps), count, channels, height, width, dtype=filters.dtype)
    for s, matrix in enumerate(maps):
        for row in range(height):
            for column in range(width):
                place = [2 * column / (width - 1) - 1, 2 * row / (height - 1) - 1, 1.0]
                x, y = (matrix @ torch.tensor(place, dtype=filters.dtype)).tolist()
                right, down = (x + 1) * (width - 1) / 2, (y + 1) * (height - 1) / 2
                for r in (math.floor(down), math.floor(down) + 1):
                    for c in (math.floor(right), math.floor(right) + 1):
                        if 0 <= r < height and 0 <= c < width:
                            banks[s, :, :, row, column] += (1 - abs(down - r)) * (1 - abs(right - c)) * filters[:, :, r, c]
    return banks


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_ways_agree_with_the_definition(channels, dtype):
    inputs, filters = draw(4, channels, 5, 6, dtype=dtype), draw(7, channels, 5, 6, seed=1, dtype=dtype)
    maps = AffineTransformations(ETA, (True,) * 6).maps(draw(3, 6, seed=2).clamp(-1, 1)).detach()
    expected = torch.einsum("shcij,bcij->hsb", one_pixel_at_a_time(filters.double(), maps), inputs.double())
    bound = 1e-5 if dtype == torch.float32 else 1e-12
    for products in (products_on_weights, products_on_inputs):
        found = products(inputs, filters, maps.to(dtype))
        assert found.shape == (7, 3, 4)
        torch.testing.assert_close(found.double(), expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("shape", [(1, 5, 6), (3, 4, 4), (2,)], ids=["grey", "colour", "points"])
def test_both_have_the_same_gradients_in_eta_and_in_the_filters(shape):
    inputs, cotangent = draw(4, *shape), draw(7, 3, 4, seed=3)
    noise = 2 * torch.rand(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(4)) - 1
    found = []
    for products in (products_on_weights, products_on_inputs):
        transformations = AffineTransformations(ETA, (True,) * 6)
        filters = draw(7, *shape, seed=1).requires_grad_()
        value = (products(inputs, filters, transformations.maps(noise)).sin() * cotangent).sum()
        found.append((value, *torch.autograd.grad(value, (transformations.eta, filters))))
    for on_weights, on_inputs in zip(*found, strict=True):
        torch.testing.assert_close(on_inputs, on_weights, rtol=1e-10, atol=1e-10)
    assert (found[0][1] != 0).all()


def test_gradient_in_eta_by_finite_differences():
    inputs, filters, cotangent = draw(4, 1, 5, 6), draw(7, 1, 5, 6, seed=1), draw(7, 3, 4, seed=3)
    noise = 2 * torch.rand(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(4)) - 1

    def value(eta: Tensor) -> Tensor:
        maps = AffineTransformations(tuple(eta.tolist()), (True,) * 6).maps(noise)
        return (products_on_inputs(inputs, filters, maps) * cotangent).sum().detach()

    transformations = AffineTransformations(ETA, (True,) * 6)
    (found,) = torch.autograd.grad(
        (products_on_inputs(inputs, filters, transformations.maps(noise)) * cotangent).sum(), transformations.eta
    )
    expected = finite_difference(value, transformations.values(), step=1e-7)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_copies_are_the_adjoint_of_resampling():
    """<M w, x> = <w, M^T x> for every map, also where positions leave the image."""
    image, other = draw(2, 3, 5, 6), draw(1, 3, 5, 6, seed=1)
    maps = AffineTransformations(tuple(2 * each for each in ETA), (True,) * 6).maps(draw(4, 6, seed=5)).detach()
    copies = adjoint_copies(image, maps).view(5, 6, 4, 3, 2)
    left = torch.einsum("shcij,bcij->sb", resample(other, maps), image)
    right = torch.einsum("ijscb,hcij->sb", copies, other)
    torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)


def test_points_are_mapped_like_homogeneous_vectors():
    points, filters = draw(4, 2), draw(7, 2, seed=1)
    maps = AffineTransformations(ETA, (True,) * 6).maps(draw(3, 6, seed=2)).detach()
    homogeneous = torch.cat([points, torch.ones(4, 1, dtype=torch.float64)], 1)
    expected = torch.einsum("hi,sij,bj->hsb", filters, maps, homogeneous)
    for products in (products_on_weights, products_on_inputs):
        torch.testing.assert_close(products(points, filters, maps), expected, rtol=1e-12, atol=1e-12)
