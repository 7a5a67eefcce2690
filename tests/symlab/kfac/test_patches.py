import pytest
import torch
from torch import nn

from symlab.kfac.patches import has_patch_gram, pad_like, patch_gram

CASES = [
    (mode, kernel, padding, extent)
    for mode in ("circular", "zeros")
    for kernel, paddings in ((1, (0,)), (3, (0, 1, 2)), (5, (0, 1, 2, 4)), ((3, 5), ((1, 2), (0, 1))))
    for padding in paddings
    for extent in ((1, 1), (2, 2), (4, 6), (7, 5), (2, 9), (6, 8))
]


@pytest.mark.parametrize("channels", [3, 20])
def test_equals_the_gram_matrix_of_unfolded_patches(channels):
    torch.manual_seed(0)
    compared = 0
    for mode, kernel, padding, extent in CASES:
        module = nn.Conv2d(channels, 4, kernel, padding=padding, padding_mode=mode)
        images = torch.randn(3, channels, *extent, dtype=torch.float64)
        if not has_patch_gram(module, images):
            continue
        try:
            patches = nn.functional.unfold(pad_like(module, images), module.kernel_size)
        except RuntimeError:  # a map too small for this convolution
            continue
        expected = torch.einsum("ndl,nel->de", patches, patches)
        torch.testing.assert_close(patch_gram(module, images)[0, 0], expected, rtol=1e-10, atol=1e-10)
        compared += 1
    assert compared > 40


@pytest.mark.parametrize(
    "options", [{"stride": 2}, {"dilation": 2}, {"groups": 2}, {"padding": 1, "padding_mode": "reflect"}]
)
def test_does_not_claim_what_it_cannot(options):
    assert not has_patch_gram(nn.Conv2d(2, 2, 3, **options), torch.zeros(1, 2, 6, 6))


def test_circular_needs_the_same_size():
    assert not has_patch_gram(nn.Conv2d(2, 2, 3, padding=2, padding_mode="circular"), torch.zeros(1, 2, 6, 6))
