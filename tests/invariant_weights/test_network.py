import math

import pytest
import torch
from torch import Tensor

from invariant_weights.blur import blur_matrix, blurred
from invariant_weights.products import resample
from invariant_weights.sampling import Deterministic, Stochastic
from invariant_weights.transformations import affine, rotation, unchanged
from symlab.errors import ConfigError
from tests.invariant_weights.networks import network


def images(count: int, *shape: int) -> Tensor:
    return torch.randn(count, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", ["rff", "relu"])
def test_equations_2_and_6_one_transformation_at_a_time(kind):
    torch.manual_seed(0)
    model = network(kind, (2, 5, 5), blur=0.8).double()
    inputs, noise = images(6, 2, 5, 5), model.noise(torch.Generator().manual_seed(3))
    blur = blur_matrix(5, 0.8).double()
    total = torch.zeros(6, 24, dtype=torch.float64)
    for each in noise:
        filters = resample(blurred(model.basis.filters, blur, blur), model.transformations.maps(each[None]))[0]
        products = torch.einsum("hcij,bcij->bh", filters, inputs) + model.basis.bias
        total += model.basis.amplitude * (products.cos() if kind == "rff" else products.clamp(min=0))
    torch.testing.assert_close(model.features(inputs, noise), total / 4, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 5, 5), (2,)])
@pytest.mark.parametrize("kind", ["rff", "relu"])
def test_what_is_resampled_does_not_matter(kind, shape):
    found = []
    for applied_to in ("weights", "inputs"):
        torch.manual_seed(0)
        model = network(kind, shape, applied_to=applied_to).double()
        features = model.features(images(6, *shape), model.noise(torch.Generator().manual_seed(3)))
        learnt = [model.transformations.eta, *model.basis.parameters()]
        found.append([features, *torch.autograd.grad(features.square().sum(), learnt)])
    for on_weights, on_inputs in zip(*found, strict=True):
        torch.testing.assert_close(on_inputs, on_weights, rtol=1e-9, atol=1e-10)


def test_without_transformations_it_is_a_plain_network():
    torch.manual_seed(0)
    model = network("relu", (1, 4, 4), transformations=unchanged(), sampler=Stochastic(9)).double()
    inputs, noise = images(6, 1, 4, 4), model.noise(torch.Generator().manual_seed(3))
    assert len(noise) == 1
    expected = 1.5 * (inputs.flatten(1) @ model.basis.filters.flatten(1).T + model.basis.bias).relu()
    torch.testing.assert_close(model.features(inputs, noise), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["rff", "relu"])
@pytest.mark.parametrize("points", [3, 5, 8])
def test_points_of_the_plane_strictly_invariant_to_every_step_at_a_half_turn(kind, points):
    """Deterministic sampling at eta = pi: S rotations by 2 pi / S, the orbit of a finite group."""
    torch.manual_seed(0)
    model = network(kind, (2,), transformations=rotation(180), sampler=Deterministic(points)).double()
    noise, inputs = model.noise(torch.Generator()), images(6, 2)
    for step in range(1, points):
        angle = torch.tensor(2 * math.pi * step / points, dtype=torch.float64)
        turn = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
        torch.testing.assert_close(
            model.features(inputs @ turn.T, noise), model.features(inputs, noise), rtol=1e-10, atol=1e-10
        )
    slight = network(kind, (2,), transformations=rotation(90), sampler=Deterministic(points)).double()
    assert (slight.features(inputs @ turn.T, noise) - slight.features(inputs, noise)).abs().max() > 1e-3


@pytest.mark.parametrize("kind", ["rff", "relu"])
@pytest.mark.parametrize("points", [4, 8, 12])
def test_images_strictly_invariant_to_quarter_turns_at_a_half_turn(kind, points):
    """Of the sampler's own steps those that map pixels to pixels: other rotations of an image need interpolation."""
    torch.manual_seed(0)
    model = network(kind, (1, 6, 6), transformations=rotation(180), sampler=Deterministic(points), blur=0.7).double()
    noise, inputs = model.noise(torch.Generator()), images(6, 1, 6, 6)
    for turns in (1, 2, 3):
        torch.testing.assert_close(
            model.features(inputs.rot90(turns, (2, 3)), noise), model.features(inputs, noise), rtol=1e-10, atol=1e-10
        )


def test_calls_give_the_same_logits():
    model = network("rff", (1, 4, 4), transformations=affine(0.3))
    inputs = images(3, 1, 4, 4).float()
    assert model(inputs).shape == (3, 3)
    assert torch.equal(model(inputs), model(inputs))


@pytest.mark.parametrize(("shape", "changes"), [((5,), {}), ((1, 4, 4), {"applied_to": "nothing"})])
def test_what_does_not_fit_is_refused(shape, changes):
    with pytest.raises(ConfigError, match="do"):
        network("rff", shape, **changes)
