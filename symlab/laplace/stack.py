"""Many small curvature blocks at once: their eigenvalues in one vector, so that a prior step is a few long operations.

For blocks b with one precision delta_b each, eigenvalues lambda_bk (k = 1..P_b) and a scale s of the curvature,

    sum_b log det (s H_b + delta_b I) = sum_b sum_k log(s lambda_bk + delta_b)

whose derivatives are sum_k 1 / (s lambda_bk + delta_b) in delta_b and sum_bk lambda_bk / (s lambda_bk + delta_b) in s. It is
what ``Spectrum.log_det`` computes block by block; a network of fifty small blocks spends most of that on calls.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from symlab.laplace.spectrum import Spectrum

SMALL = 2**18  # parameters of a block that is stacked: 2 MB of eigenvalues


class SpectrumStack:
    def __init__(self, spectra: Sequence[Spectrum]):
        self.eigenvalues = torch.cat([spectrum.eigenvalues().flatten() for spectrum in spectra])
        self.sizes = [spectrum.n_parameters for spectrum in spectra]

    def log_det(self, precisions: Tensor, scale: Tensor | float = 1.0) -> Tensor:
        """``precisions`` (B,) -> the sum over all B blocks, differentiable in both arguments."""
        scale = torch.as_tensor(scale, dtype=precisions.dtype, device=precisions.device)
        return _StackedLogDet.apply(precisions, scale, self)


class _StackedLogDet(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, precisions: Tensor, scale: Tensor, stack: SpectrumStack) -> Tensor:
        sizes = torch.tensor(stack.sizes, device=precisions.device)
        # x = s lambda / delta, as in ``Whitened``: log1p keeps the digits of small curvature under a large precision.
        x = stack.eigenvalues * (scale / precisions).repeat_interleave(sizes)
        log_det = (sizes * precisions.log()).sum() + x.log1p().sum()
        prior_share = torch.stack([part.sum() for part in x.add_(1).reciprocal_().split(stack.sizes)])
        ctx.save_for_backward(prior_share / precisions, (sizes - prior_share).sum() / scale)
        return log_det

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        of_precisions, of_scale = ctx.saved_tensors
        return gradient * of_precisions, gradient * of_scale, None
