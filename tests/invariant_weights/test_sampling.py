import itertools

import pytest
import torch

from invariant_weights.sampling import Deterministic, Stochastic
from symlab.errors import ConfigError

ROTATION = (False, False, True, False, False, False)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_draws_are_uniform_and_a_function_of_the_generator():
    sampler = Stochastic(4000)
    noise = sampler.noise((True,) * 6, generator())
    assert torch.equal(noise, sampler.noise((True,) * 6, generator()))
    assert not torch.equal(noise, sampler.noise((True,) * 6, generator(1)))
    assert noise.abs().max() <= 1
    assert noise.mean(0).abs().max() < 0.05
    torch.testing.assert_close(noise.square().mean(0), torch.full((6,), 1 / 3, dtype=torch.float64), rtol=0.05, atol=0)


@pytest.mark.parametrize("sampler", [Stochastic(7), Deterministic(7)])
def test_what_is_not_active_has_no_noise(sampler):
    noise = sampler.noise(ROTATION, generator())
    assert noise.shape == (7, 6)
    assert (noise != 0).any(0).tolist() == list(ROTATION)
    assert torch.equal(sampler.noise((False,) * 6, generator()), torch.zeros(1, 6, dtype=torch.float64))


def test_points_are_midpoints_of_equal_parts_in_all_combinations():
    found = Deterministic(4).noise((True, False, True, False, False, True), generator())[:, [0, 2, 5]]
    expected = torch.tensor(list(itertools.product((-0.75, -0.25, 0.25, 0.75), repeat=3)), dtype=torch.float64)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("build", [Stochastic, Deterministic])
def test_nothing_to_average_over_is_refused(build):
    with pytest.raises(ConfigError, match="=0 does not fit"):
        build(0)
