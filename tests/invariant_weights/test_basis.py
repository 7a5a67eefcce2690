import math

import pytest
import torch

from invariant_weights.basis import FourierBasis, ReLUBasis
from symlab.errors import ConfigError


def test_fourier_features_approach_the_kernel():
    """alpha^2 exp(-sigma^2 |x - x'|^2 / 2), within the Monte Carlo error of 40000 features."""
    torch.manual_seed(0)
    basis = FourierBasis((1, 3, 3), units=40000, frequency_scale=0.4, amplitude=1.5)
    inputs = torch.randn(5, 1, 3, 3)
    products = basis.filters.flatten(1) @ inputs.flatten(1).T
    features = basis.amplitude * basis.average(products[:, None])
    expected = 1.5**2 * torch.exp(-0.5 * 0.4**2 * torch.cdist(inputs.flatten(1), inputs.flatten(1)).square())
    torch.testing.assert_close(features.T @ features, expected, rtol=0, atol=5 * 1.5**2 / math.sqrt(40000))
    assert not list(basis.parameters())


def test_relu_basis_is_learnt_from_xavier_weights():
    basis = ReLUBasis((3, 8, 8), units=500)
    assert {name for name, _ in basis.named_parameters()} == {"filters", "bias"}
    assert basis.filters.shape == (500, 3, 8, 8)
    assert basis.filters.std().item() == pytest.approx(math.sqrt(2 / (192 + 500)), rel=0.02)


@pytest.mark.parametrize(
    ("basis", "activate"), [(FourierBasis((2,), units=3), torch.cos), (ReLUBasis((2,), units=3), torch.relu)]
)
def test_averages_and_their_gradients_against_autograd(basis, activate):
    generator = torch.Generator().manual_seed(0)
    products = torch.randn(3, 4, 5, dtype=torch.float64, generator=generator).requires_grad_()
    cotangent = torch.randn(3, 5, dtype=torch.float64, generator=generator)
    basis.double()
    basis.bias.data.normal_(generator=generator)
    found, expected = basis.average(products.clone()), activate(products + basis.bias[:, None, None]).mean(1)
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
    learnt = [products, *([basis.bias] if basis.bias.requires_grad else [])]
    ours, theirs = (torch.autograd.grad((each * cotangent).sum(), learnt) for each in (found, expected))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_no_units_are_refused():
    with pytest.raises(ConfigError, match="units=0"):
        FourierBasis((2,), units=0)
