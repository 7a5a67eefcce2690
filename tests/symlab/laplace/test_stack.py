import pytest
import torch

from symlab.laplace.spectrum import Spectrum
from symlab.laplace.stack import SpectrumStack
from tests.symlab.laplace.cases import BLOCKS


@pytest.fixture
def spectra() -> list[Spectrum]:
    return [Spectrum(block) for block in BLOCKS.values()]


def test_it_equals_the_sum_over_dense_blocks(spectra):
    generator = torch.Generator().manual_seed(0)
    precisions = torch.rand(len(spectra), generator=generator, dtype=torch.float64) * 3 + 0.05
    found = SpectrumStack(spectra).log_det(precisions, 0.7)
    dense = [0.7 * spectrum.block.dense() for spectrum in spectra]
    shifted = [matrix + delta * torch.eye(len(matrix)).double() for matrix, delta in zip(dense, precisions, strict=True)]
    wanted = torch.stack([torch.linalg.slogdet(matrix)[1] for matrix in shifted]).sum()
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


def test_its_derivatives_are_those_of_finite_differences(spectra):
    precisions = torch.linspace(0.2, 4, len(spectra), dtype=torch.float64, requires_grad=True)
    scale = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(SpectrumStack(spectra).log_det, (precisions, scale))


def test_small_curvature_under_a_large_precision_keeps_its_digits(spectra):
    precisions = torch.full((len(spectra),), 1e12, dtype=torch.float64, requires_grad=True)
    log_det = SpectrumStack(spectra).log_det(precisions)
    (gradient,) = torch.autograd.grad(log_det, precisions)
    sizes = torch.tensor([spectrum.n_parameters for spectrum in spectra])
    torch.testing.assert_close(gradient * 1e12, sizes.double(), rtol=1e-9, atol=0.0)
