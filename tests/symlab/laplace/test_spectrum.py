import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from symlab.errors import ConfigError
from symlab.kfac.blocks import KroneckerBlock
from symlab.laplace.spectrum import Spectrum, spectra_of
from tests.symlab.laplace.cases import BLOCKS, dense_precision, flattened, precisions, random_block

CASES = [
    pytest.param(block, precision, id=f"{name}-{'x'.join(map(str, precision.shape)) or 'scalar'}")
    for name, block in BLOCKS.items()
    for precision in precisions(block)
]
close = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize(("block", "precision"), CASES)
class TestAgainstDenseMatrices:
    def test_log_det_and_its_derivatives(self, block: KroneckerBlock, precision: Tensor) -> None:
        delta, scale = precision.clone().requires_grad_(), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        expected = torch.logdet(dense_precision(block, delta, scale))
        actual = Spectrum(block).log_det(delta, scale)
        torch.testing.assert_close(actual, expected, **close)
        wanted = torch.autograd.grad(expected, (delta, scale))
        for have, want in zip(torch.autograd.grad(actual, (delta, scale)), wanted, strict=True):
            torch.testing.assert_close(have, want, **close)

    def test_effective_parameters_and_trace(self, block: KroneckerBlock, precision: Tensor) -> None:
        inverse = torch.linalg.inv(dense_precision(block, precision))
        spectrum = Spectrum(block)
        gamma = spectrum.effective_parameters(precision)
        torch.testing.assert_close(gamma, torch.trace(block.dense() @ inverse), **close)
        torch.testing.assert_close(spectrum.trace_of_inverse(precision), torch.trace(inverse), **close)

    def test_effective_parameters_by_name(self, block: KroneckerBlock, precision: Tensor) -> None:
        inverse = torch.linalg.inv(dense_precision(block, precision))
        share = 1 - flattened(block, precision) * inverse.diagonal()
        sizes = [math.prod(shape) for shape in block.shapes]
        by_name = Spectrum(block).effective_parameters_by_name(precision)
        assert tuple(by_name) == block.names
        for have, want in zip(by_name.values(), share.split(sizes), strict=True):
            assert have == pytest.approx(want.sum().item(), abs=1e-9)

    def test_inverse_and_its_root(self, block: KroneckerBlock, precision: Tensor) -> None:
        identity = torch.eye(block.n_parameters, dtype=torch.float64)
        sizes = [math.prod(shape) for shape in block.shapes]
        parts = [part.reshape(-1, *shape) for part, shape in zip(identity.split(sizes, 1), block.shapes, strict=True)]
        joined = block.join(parts)
        inverse = torch.linalg.inv(dense_precision(block, precision))

        def columns(applied: Tensor) -> Tensor:
            return torch.cat([part.flatten(1) for part in block.split(applied)], 1).T

        whitened = Spectrum(block, vectors=True).whiten(precision)
        torch.testing.assert_close(columns(whitened.apply_inverse(joined)), inverse, **close)
        root = columns(Spectrum(block).apply_inverse_root(joined, precision))
        torch.testing.assert_close(root @ root.T, inverse, **close)
        torch.testing.assert_close(columns(whitened.apply_inverse_root_transposed(joined)), root.T, **close)

    def test_gradient_in_the_factors(self, block: KroneckerBlock, precision: Tensor) -> None:
        inputs, outputs = block.inputs.clone().requires_grad_(), block.outputs.clone().requires_grad_()
        moved = KroneckerBlock(block.names, block.shapes, inputs, outputs, block.rows)
        wanted = torch.autograd.grad(torch.logdet(dense_precision(moved, precision)), (inputs, outputs))
        for have, want in zip(Spectrum(block).gradient_in_factors(precision), wanted, strict=True):
            torch.testing.assert_close(have, (want + want.mT) / 2, **close)


@pytest.mark.parametrize("name", ["joint", "block-diagonal", "full"])
def test_log_det_matches_finite_differences(name: str) -> None:
    block = BLOCKS[name]
    spectrum = Spectrum(block)
    for precision in precisions(block):
        delta = precision.requires_grad_()
        assert torch.autograd.gradcheck(spectrum.log_det, (delta, torch.tensor(1.3, dtype=torch.float64)), atol=1e-7)


def test_a_scalar_precision_needs_no_new_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    spectrum = Spectrum(BLOCKS["linear"])
    spectrum.log_det(1.0)

    def refuse(*_: Tensor) -> None:
        raise AssertionError("decomposed again")

    monkeypatch.setattr(torch.linalg, "eigh", refuse)
    monkeypatch.setattr(torch.linalg, "eigvalsh", refuse)
    delta = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    spectrum.log_det(delta).backward()
    spectrum.effective_parameters(delta)


def test_sums_over_tiles_equal_one_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    for block in BLOCKS.values():
        for precision in precisions(block):
            spectrum = Spectrum(block)
            once = (
                spectrum.log_det(precision),
                spectrum.trace_of_inverse(precision),
                *spectrum.gradient_in_factors(precision),
            )
            with monkeypatch.context() as patch:
                patch.setattr("symlab.laplace.whitened._TILE", 5)
                tiled = (
                    spectrum.log_det(precision),
                    spectrum.trace_of_inverse(precision),
                    *spectrum.gradient_in_factors(precision),
                )
            torch.testing.assert_close(tiled, once, rtol=1e-12, atol=1e-12)


class LargestTensor(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation made."""

    size = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.size = max(self.size, result.numel())
        return result


def test_a_large_block_is_summed_without_a_large_tensor() -> None:
    block = random_block({"w": (2000, 1000)}, (1, 1000, 1), (1, 2000, 1))
    delta = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    spectrum = Spectrum(block)
    with LargestTensor() as largest:
        value = spectrum.log_det(delta)
        value.backward()
    assert largest.size <= 2**20 < block.n_parameters
    eigenvalues = spectrum.eigenvalues()
    torch.testing.assert_close(value, torch.log(eigenvalues + 0.5).sum(), rtol=1e-12, atol=0)
    torch.testing.assert_close(delta.grad, (1 / (eigenvalues + 0.5)).sum(), rtol=1e-12, atol=0)


def test_float32_factors_are_treated_in_float64() -> None:
    block = random_block({"w": (3, 4)}, (1, 1, 4), (1, 1, 3), dtype=torch.float32)
    expected = torch.logdet(dense_precision(random_like_double(block), torch.tensor(0.3, dtype=torch.float64)))
    torch.testing.assert_close(Spectrum(block).log_det(0.3), expected, **close)


def random_like_double(block: KroneckerBlock) -> KroneckerBlock:
    return KroneckerBlock(block.names, block.shapes, block.inputs.double(), block.outputs.double(), block.rows)


def test_extreme_precisions_stay_exact() -> None:
    eigenvalues = Spectrum(BLOCKS["linear"]).eigenvalues()
    for delta in (1e-12, 1e12):
        spectrum = Spectrum(BLOCKS["linear"])
        torch.testing.assert_close(spectrum.log_det(delta), torch.log(eigenvalues + delta).sum(), **close)
        torch.testing.assert_close(spectrum.trace_of_inverse(delta), (1 / (eigenvalues + delta)).sum(), **close)
        gamma = (eigenvalues / (eigenvalues + delta)).sum()
        torch.testing.assert_close(spectrum.effective_parameters(delta), gamma, rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("precision", "message"),
    [
        (torch.ones(1, 3, 4), "varies over outputs and inputs"),
        (torch.ones(1, 2, 1), r"shape \(1, 2, 1\) does not fit"),
        (torch.ones(1, 1, 1, 1), "does not fit"),
        (0.0, "must be above 0"),
        (float("nan"), "must be above 0"),
    ],
)
def test_wrong_precisions_are_refused(precision: Tensor | float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Spectrum(BLOCKS["linear"]).log_det(precision)


def test_an_output_factor_in_common_is_decomposed_once():
    first, other = BLOCKS["linear"], BLOCKS["rank one"]
    twin = KroneckerBlock(("b",), ((3,),), torch.ones(1, 1, 1, 1, dtype=torch.float64), first.outputs, first.rows)
    spectra = spectra_of([first, other, twin])
    assert spectra[0].outputs is spectra[2].outputs
    assert spectra[0].outputs is not spectra[1].outputs
    for spectrum in spectra:
        assert torch.equal(spectrum.eigenvalues(), Spectrum(spectrum.block).eigenvalues())
