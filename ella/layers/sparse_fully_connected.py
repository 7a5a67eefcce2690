"""S-FC: F-FC whose two halves are spatial functions of a few anchor points, ELLA Eq. 7.

    y(c', x', y') = sum_c s1(c', c, x', y') (sum_{x, y} s2(c', c, x, y) x(c, x, y) + b2(c')) + b1(x', y')
    s2(c', c, .) = sum_j u2(c', c, j) phi_j(.),       s1 likewise with its own anchors (``spatial_basis``)

The induced weights have the size of F-FC's and are made once for a batch, so that a step costs what F-FC's costs.

KFAC, App. C.2: the factors of F-FC, projected by the basis. Of u2, a = phi x(c, .) per channel (C blocks M by M); of u1,
g = phi g(c', .) (one factor M' by M'). The basis is computed once for all of a fit.
"""

import torch
from torch import Tensor, nn

from ella.layers.factored_fully_connected import (
    FromSpaceBias,
    FromSpaceWeight,
    ToSpaceBias,
    ToSpaceWeight,
    read_space,
    write_space,
)
from ella.layers.spatial_basis import (
    ANCHOR_FRACTION,
    Prior,
    SpatialBasis,
    frequency_rules,
    initialise_reading,
    initialise_writing,
)
from symlab.kfac.rules import BlockRule, RuleOptions


class SparseFullyConnected(nn.Module):
    """(B, c, extent_in, extent_in) -> (B, c', extent_out, extent_out)."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        extent_in: int,
        extent_out: int,
        prior: Prior = "u",
        anchor_fraction: float = ANCHOR_FRACTION,
    ):
        super().__init__()
        self.extent_out = extent_out
        self.from_space = SparseFromSpace(channels_in, channels_out, SpatialBasis(extent_in, prior, anchor_fraction))
        self.to_space = SparseToSpace(channels_in, channels_out, SpatialBasis(extent_out, prior, anchor_fraction))

    def forward(self, features: Tensor) -> Tensor:
        return self.to_space(self.from_space(features.flatten(2))).unflatten(2, (self.extent_out, self.extent_out))

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        """Multiply the map (without its offset) by a factor."""
        self.to_space.weight.mul_(factor)


class SparseFromSpace(nn.Module):
    """u2 (c', c, M): (B, c, T) -> (B, c', c), with one bias for each c'."""

    def __init__(self, channels_in: int, channels_out: int, basis: SpatialBasis):
        super().__init__()
        self.basis = basis
        self.weight = nn.Parameter(torch.empty(channels_out, channels_in, basis.n_anchors))
        self.bias = nn.Parameter(torch.zeros(channels_out))
        initialise_reading(self.weight, basis, variance=1.0)

    def forward(self, features: Tensor) -> Tensor:
        induced = self.basis.induce(self.weight.flatten(0, 1)).unflatten(0, self.weight.shape[:2])
        return read_space(features, induced) + self.bias[:, None]

    def _read(self, features: Tensor, basis: Tensor) -> Tensor:
        return read_space(features, self.weight @ basis)

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return [ProjectedInputs(self.basis()), FromSpaceBias("bias"), *frequency_rules(self.basis, self._read)]


class SparseToSpace(nn.Module):
    """u1 (M', c', c): (B, c', c) -> (B, c', T'), with one bias for each site that all channels share."""

    def __init__(self, channels_in: int, channels_out: int, basis: SpatialBasis):
        super().__init__()
        self.basis = basis
        self.weight = nn.Parameter(torch.empty(basis.n_anchors, channels_out, channels_in))
        self.bias = nn.Parameter(torch.zeros(basis.extent**2))
        initialise_writing(self.weight, basis, variance=2 / channels_in)

    def forward(self, features: Tensor) -> Tensor:
        induced = self.basis.induce(self.weight.flatten(1).mT).mT
        return write_space(features, induced.unflatten(1, self.weight.shape[1:])) + self.bias

    def _write(self, features: Tensor, basis: Tensor) -> Tensor:
        return write_space(features, (basis.mT @ self.weight.flatten(1)).unflatten(1, self.weight.shape[1:]))

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return [ProjectedOutputs(self.basis()), ToSpaceBias("bias"), *frequency_rules(self.basis, self._write)]


class ProjectedInputs(FromSpaceWeight):
    def __init__(self, basis: Tensor):
        self.basis = basis

    def input_rows(self, inputs: Tensor) -> Tensor:
        return super().input_rows(inputs @ self.basis.to(inputs.dtype).mT)


class ProjectedOutputs(ToSpaceWeight):
    def __init__(self, basis: Tensor):
        self.basis = basis

    def output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return super().output_rows(inputs, gradients @ self.basis.to(gradients.dtype).mT)
