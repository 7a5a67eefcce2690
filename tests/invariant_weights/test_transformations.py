import math

import pytest
import torch

from invariant_weights.transformations import AffineTransformations, affine, rotation, scale, translation, unchanged
from symlab.errors import ConfigError
from symlab.transformations.affine import GENERATORS

SUBSETS = {
    "none": (unchanged(), set()),
    "rotation": (rotation(), {"rotation"}),
    "translation": (translation(), {"translation_x", "translation_y"}),
    "scale": (scale(), {"scale_x", "scale_y"}),
    "affine": (affine(), set(GENERATORS)),
}


@pytest.mark.parametrize("name", SUBSETS)
def test_subsets_learn_their_generators_alone(name):
    transformations, expected = SUBSETS[name]
    assert {each for each, is_active in zip(GENERATORS, transformations.active) if is_active} == expected
    noise = torch.full((2, 6), 0.7, dtype=torch.float64)
    if not expected:
        assert not transformations.eta.requires_grad
        return
    (gradient,) = torch.autograd.grad(transformations.maps(noise).exp().sum(), transformations.eta)
    assert {each for each, value in zip(GENERATORS, gradient) if value != 0} == expected


def test_maps_are_exponentials_of_noise_times_eta():
    transformations = AffineTransformations((0.3, -0.2, 1.1, 0.4, -0.3, 0.25), (True,) * 6)
    noise = 2 * torch.rand(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1
    tx, ty, turn, sx, sy, shear = (noise * transformations.values()).unbind(-1)
    zero = torch.zeros_like(tx)
    rows = [[sx, shear - turn, tx], [shear + turn, sy, ty], [zero, zero, zero]]
    expected = torch.linalg.matrix_exp(torch.stack([torch.stack(row, -1) for row in rows], -2))[:, :2]
    torch.testing.assert_close(transformations.maps(noise), expected, rtol=1e-12, atol=1e-12)


def test_a_fixed_rotation_stays():
    fixed = rotation(degrees=45, learned=False)
    assert fixed.values()[2].item() == pytest.approx(math.pi / 4)
    assert not fixed.eta.requires_grad
    assert fixed.active == (False, False, True, False, False, False)


def test_only_what_is_active_is_described_in_units():
    described = translation(0.5).describe((1, 29, 29))
    assert described["eta/rotation"] == 0
    units = {name: value for name, value in described.items() if name.startswith("invariance/")}
    assert units == pytest.approx({"invariance/translation_x_pixels": 7.0, "invariance/translation_y_pixels": 7.0})
    assert rotation(30).describe((2,))["invariance/rotation_degrees"] == pytest.approx(30)


def test_entries_for_other_generators_are_refused():
    with pytest.raises(ConfigError, match="learnable"):
        AffineTransformations((0.0,) * 6, (True,))
