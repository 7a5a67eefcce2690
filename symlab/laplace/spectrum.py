"""Spectrum of a curvature block: decomposed once per fit, then cheap for every prior precision.

With eigenvalues l (p, D) of the inputs' factor and m (p, E) of the outputs' factor, the eigenvalues of a
``KroneckerBlock`` are m_j l_i / rows. The prior precision delta comes as a tensor that broadcasts to the block's
parameters (p, E, D):

    () or (p, 1, 1)    one number (per product), no new decomposition:
                       log det (s H + delta I) = sum log(s m_j l_i / rows + delta)
    (p, E, 1)          per output unit: G~ = Delta^-1/2 G Delta^-1/2, m~ its eigenvalues,
                       log det (s H + I (x) Delta) = D sum log delta + sum log(s m~_j l_i / rows + 1)
    (p, 1, D)          per input (weight and bias taken jointly, each with its precision): likewise with A

A leading p may be 1. Precisions on both sides at once do not leave a Kronecker product and are refused. The scale s
(default 1) multiplies the curvature: where the noise of a regression is learnt, it is the change of 1/sigma^2 since the
fit.

``log_det`` is differentiable in delta and s by closed form: no graph through eigenvalues, nothing larger than a tile in
memory.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from symlab.errors import ConfigError
from symlab.kfac.blocks import KroneckerBlock
from symlab.laplace.factor import Factor
from symlab.laplace.whitened import Whitened


class Spectrum:
    """``vectors=True`` decomposes at once, for a fit that will predict; otherwise eigenvectors wait until they are asked
    for."""

    def __init__(self, block: KroneckerBlock, vectors: bool = False, outputs: Factor | None = None):
        self.block = block
        self.inputs = Factor(block.inputs, vectors, rank=block.input_rank / block.inputs.shape[1])
        self.outputs = Factor(block.outputs, vectors) if outputs is None else outputs

    @property
    def n_parameters(self) -> int:
        return self.block.n_parameters

    def eigenvalues(self) -> Tensor:
        """(p, E, D): written out, for small blocks and pictures."""
        return self.outputs.values[:, :, None] * self.inputs.values[:, None, :] / self.block.rows

    def whiten(self, precision: Tensor | float, scale: Tensor | float = 1.0) -> Whitened:
        """The block with its prior precision: decomposed once here, then used for as many inverses or samples as needed."""
        delta = self._aligned(precision)
        inputs, outputs = self.inputs, self.outputs
        weight = torch.as_tensor(scale, dtype=torch.float64, device=delta.device).detach() / self.block.rows
        if delta.shape[1] > 1:
            outputs = outputs.rescaled(delta.flatten(1))
        elif delta.shape[2] > 1:
            inputs = inputs.rescaled(delta.flatten(1))
        else:
            weight = weight / delta.flatten()
        return Whitened(delta, inputs, outputs, weight.expand(self.block.products))

    def log_det(self, precision: Tensor | float, scale: Tensor | float = 1.0) -> Tensor:
        """log det (s H + Delta), differentiable in both arguments."""
        device = self.block.inputs.device
        delta = torch.as_tensor(precision, dtype=torch.float64, device=device)
        return _LogDet.apply(delta, torch.as_tensor(scale, dtype=torch.float64, device=device), self)

    def effective_parameters(self, precision: Tensor | float, scale: Tensor | float = 1.0) -> Tensor:
        """gamma = tr H (H + Delta)^-1 = sum lambda / (lambda + delta), between 0 and the number of parameters (ELLA App.
        D.2)."""
        return self.whiten(precision, scale).effective_parameters()

    def effective_parameters_by_name(self, precision: Tensor | float, scale: Tensor | float = 1.0) -> dict[str, float]:
        """gamma of each parameter tensor, 1 - delta_k [(H + Delta)^-1]_kk summed over its entries; they add up to the
        block's."""
        whitened, block = self.whiten(precision, scale), self.block
        if len(block.names) == 1:
            return {block.names[0]: whitened.effective_parameters().item()}
        if block.n_inputs == 1:  # the names follow each other as rows
            parts = block.split(whitened.effective_parameters("outputs")[:, :, None])
        else:  # as columns
            sizes = [torch.Size(shape).numel() // (block.products * block.n_outputs) for shape in block.shapes]
            parts = list(whitened.effective_parameters("inputs").split(sizes, -1))
        return {name: part.sum().item() for name, part in zip(block.names, parts, strict=True)}

    def trace_of_inverse(self, precision: Tensor | float, scale: Tensor | float = 1.0) -> Tensor:
        return self.whiten(precision, scale).trace_of_inverse()

    def apply_inverse(self, matrix: Tensor, precision: Tensor | float, scale: Tensor | float = 1.0) -> Tensor:
        """(s H + Delta)^-1 vec(X) for X (..., p, E, D)."""
        return self.whiten(precision, scale).apply_inverse(matrix)

    def apply_inverse_root(self, matrix: Tensor, precision: Tensor | float, scale: Tensor | float = 1.0) -> Tensor:
        """R vec(X) with R R^T = (s H + Delta)^-1, for X (..., p, E, D)."""
        return self.whiten(precision, scale).apply_inverse_root(matrix)

    def gradient_in_factors(self, precision: Tensor | float, scale: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
        """d log det / d inputs and d log det / d outputs, in the factors' own layout (LILA Eq. 16)."""
        return self.whiten(precision, scale).gradient_in_factors()

    def _aligned(self, precision: Tensor | float) -> Tensor:
        """delta as (p or 1, E or 1, D or 1), checked against the block."""
        delta = torch.as_tensor(precision, dtype=torch.float64, device=self.block.inputs.device).detach()
        wanted = (self.block.products, self.block.n_outputs, self.block.n_inputs)
        shape = (1,) * (3 - delta.dim()) + tuple(delta.shape)
        if len(shape) > 3 or any(have not in (1, want) for have, want in zip(shape, wanted)):
            raise ConfigError(
                f"a precision of shape {tuple(delta.shape)} does not fit {self.block.names}: (p, E, D) = {wanted}"
            )
        if shape[1] > 1 and shape[2] > 1:
            raise ConfigError(
                f"a precision that varies over outputs and inputs of {self.block.names} leaves no Kronecker product: "
                "give one per output (p, E, 1) or one per input (p, 1, D), or a block for each parameter"
            )
        if not bool((delta > 0).all()):
            raise ConfigError(f"precisions of {self.block.names} must be above 0, the smallest is {delta.min().item()}")
        return delta.reshape(shape)


def spectra_of(blocks: Iterable[KroneckerBlock]) -> list[Spectrum]:
    """One for each block; an output factor that blocks have in common (of a weight and its bias) is decomposed once."""
    factors: dict[int, Factor] = {}
    return [Spectrum(block, outputs=factors.setdefault(id(block.outputs), Factor(block.outputs))) for block in blocks]


class _LogDet(torch.autograd.Function):
    """d/d delta = diag (s H + Delta)^-1 summed to delta's shape; d/d s = gamma / s."""

    @staticmethod
    def forward(ctx: Any, precision: Tensor, scale: Tensor, spectrum: Spectrum) -> Tensor:
        whitened = spectrum.whiten(precision, scale)
        of_precision, of_scale = None, None
        if ctx.needs_input_grad[0]:
            of_precision = whitened.gradient_in_precision().reshape(precision.shape)
        if ctx.needs_input_grad[1]:
            of_scale = (whitened.effective_parameters() / scale).reshape(scale.shape)
        ctx.save_for_backward(of_precision, of_scale)
        return whitened.log_det()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        of_precision, of_scale = ctx.saved_tensors
        return (
            None if of_precision is None else gradient * of_precision,
            None if of_scale is None else gradient * of_scale,
            None,
        )
