"""S-CONV: a circular convolution whose filters are spatial functions of a few anchor points, ELLA Eq. 6.

    y(c', x', y') = sum_{c, x, y} s(c', c, x' - x, y' - y) x(c, x, y) + b(c'),     s(c', c, .) = sum_j u(c', c, j) phi_j(.)

with the basis of ``spatial_basis`` on the filter's k x k grid: 5 anchors for 3 x 3.

KFAC, App. C.2: the factors of the convolution with each channel's part of a patch projected by the basis, so that
A_u = (I_c (x) phi) A_theta (I_c (x) phi)^T; the output factor is the convolution's.

# Paper: the released code pads S-CONV with zeros; here the padding is circular as in CONV, so that equivariance is strict.
"""

import torch
from torch import Tensor, nn

from ella.layers.spatial_basis import ANCHOR_FRACTION, Prior, SpatialBasis, frequency_rules, initialise_reading
from ella.layers.subsampled import Subsampled
from symlab.circular_convolution import circular_convolution
from symlab.kfac.grams import accumulate_gram
from symlab.kfac.patches import patch_gram
from symlab.kfac.rules import BlockRule, RuleOptions
from symlab.kfac.rules.convolution import ConvolutionBias, ConvolutionWeight
from symlab.models.circular import CircularConvolution


class SparseConvolution(Subsampled):
    """(B, c, extent_in, extent_in) -> (B, c', extent_out, extent_out), extent_out = extent_in or half of it."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        extent_in: int,
        extent_out: int,
        kernel_size: int = 3,
        prior: Prior = "u",
        anchor_fraction: float = ANCHOR_FRACTION,
    ):
        super().__init__(extent_in, extent_out)
        self.convolution = AnchoredConvolution(channels_in, channels_out, kernel_size, prior, anchor_fraction)

    def convolve(self, features: Tensor) -> Tensor:
        return self.convolution(features)

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        """Multiply the map (without its offset) by a factor."""
        self.convolution.weight.mul_(factor)


class AnchoredConvolution(CircularConvolution):
    """(N, c, H, W) -> (N, c', H, W); ``weight`` are the anchors' values u (c', c, M)."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        kernel_size: int = 3,
        prior: Prior = "u",
        anchor_fraction: float = ANCHOR_FRACTION,
    ):
        super().__init__(channels_in, channels_out, kernel_size)
        assert self.bias is not None
        self.basis = SpatialBasis(kernel_size, prior, anchor_fraction)
        self.weight = nn.Parameter(self.bias.new_empty(channels_out, channels_in, self.basis.n_anchors))
        initialise_reading(self.weight, self.basis, variance=2 / channels_in)
        nn.init.zeros_(self.bias)

    def forward(self, features: Tensor) -> Tensor:
        assert self.bias is not None
        return self._convolve(features, self.basis().to(self.weight.dtype)) + self.bias[:, None, None]

    def _convolve(self, features: Tensor, basis: Tensor) -> Tensor:
        kernel = (self.weight @ basis).unflatten(-1, self.kernel_size)
        if features.stride(1) == 1:  # a convolution takes its memory layout from the kernel
            kernel = kernel.contiguous(memory_format=torch.channels_last)
        return circular_convolution(features, kernel)

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return [AnchorValues(self, options), ConvolutionBias("bias"), *frequency_rules(self.basis, self._convolve)]


class AnchorValues(ConvolutionWeight):
    def __init__(self, module: AnchoredConvolution, options: RuleOptions):
        super().__init__(module, options)
        self.basis = module.basis()

    def input_rows(self, inputs: Tensor) -> Tensor:
        return self._project(super().input_rows(inputs))

    def accumulate_inputs(self, total: Tensor, inputs: Tensor) -> None:
        if self.options.sharing == "reduce":
            accumulate_gram(total, self.input_rows(inputs))
        else:  # the Gram matrix of whole patches is quick to get; it is projected on both sides
            total += self._project(self._project(patch_gram(self.module, inputs)).mT)

    def _project(self, rows: Tensor) -> Tensor:
        """(..., c k^2) -> (..., c M)."""
        return (rows.unflatten(-1, (-1, self.basis.shape[1])) @ self.basis.to(rows.dtype).mT).flatten(-2)
