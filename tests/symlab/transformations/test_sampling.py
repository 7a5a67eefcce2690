import pytest
import torch
from torch.nn import functional

from symlab.transformations import sampling
from symlab.transformations.affine import affine_maps, sampling_grid
from symlab.transformations.sampling import sample_images


def plain(images, maps):
    """Copy by copy, with the graph of all positions."""
    copies = []
    for s in range(maps.shape[1]):
        grid = sampling_grid(maps[:, s], *images.shape[2:]).expand(len(images), -1, -1, -1)
        copies.append(functional.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=True))
    return torch.stack(copies, 1)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("block_entries", [1, 2 * 3 * 4 * 5 * 2, 2**20])  # blocks of one image, of two, of all
def test_values_and_gradients(monkeypatch, shared, block_entries):
    monkeypatch.setattr(sampling, "BLOCK_ENTRIES", block_entries)
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(5, 2, 4, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    count = 1 if shared else 5
    maps = affine_maps(0.4 * torch.randn(count, 3, 6, dtype=torch.float64, generator=generator)).requires_grad_()
    found, expected = sample_images(images, maps), plain(images, maps)
    assert found.shape == (5, 3, 2, 4, 5)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    weights = torch.randn(found.shape, dtype=torch.float64, generator=generator)
    of_found, of_expected = (torch.autograd.grad(each, [images, maps], weights) for each in (found, expected))
    for one, other in zip(of_found, of_expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_only_what_is_asked_for_has_a_gradient():
    images, maps = torch.rand(2, 1, 3, 3), affine_maps(torch.zeros(2, 1, 6)).requires_grad_()
    copies = sample_images(images, maps)
    copies.sum().backward()
    assert images.grad is None
    assert maps.grad is not None
    torch.testing.assert_close(copies[:, 0].detach(), images)
