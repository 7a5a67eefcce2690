"""Spatial functions spanned by a few anchor points, the basis of sparsified layers (ELLA Section 3.1, Eqs. 6 and 7).

    s(t) = sum_j u_j phi_j(t),      phi = (K_zz + 1e-4 I)^-1 K_zt,      K_ab = exp(-1/2 sum_i omega_i^2 (a_i - b_i)^2)

t are the T points of a grid, in pixels, z the M = T / 2 anchors (rounded up, App. F.4), which may lie anywhere and are
shared by all channels. They start on the pixels of one colour of a checkerboard: there s(z_j) = u_j, so that a value is a
weight and a step of Adam changes a filter as it would change a free one. Of anchors drawn at random some lie side by side,
K_zz is nearly singular, phi long, and the values of ordinary filters are a tenth as large. What the Gaussian prior of a
sparsified layer is on (Section 3.2):

    u        the anchors' values; omega is fixed to 1
    omega    the frequencies (inverse length scales, one per axis) as well: they become a parameter tensor with a prior and a
             curvature block of their own. Their limit 0 makes s constant, which is strictly equivariant
    theta    the induced weights s: with phi phi^T = L L^T the layer's values are taken as v = u L, and s = v L^-1 phi has
             |s|^2 = |v|^2, so that a prior N(0, sigma^2 I) on v is that prior on s, within what the anchors can represent

Anchor locations z are learnt by the training loss (the text counts them among "learnable parameters") but have no prior and
no curvature: ``hyperparameters()`` names them, for whoever builds a prior or asks for curvature.

# Paper: Table 2 has rows for priors on u and on omega; a prior on the length scales alone would leave the anchor values
# without one, so that there is no marginal likelihood. Here u keeps its prior in both. The kernel is printed without the
# factor 1/2 and without K_zz^-1.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from symlab.kfac.rules import BlockRule, ExactBlock

Prior = Literal["theta", "u", "omega"]

JITTER = 1e-4
ANCHOR_FRACTION = 0.5


class SpatialBasis(nn.Module):
    """``basis()`` -> phi (M, T), in float64: anchors may come close to each other. ``extent``: a grid of extent^2 pixels."""

    def __init__(self, extent: int, prior: Prior = "u", anchor_fraction: float = ANCHOR_FRACTION):
        super().__init__()
        self.prior, self.extent = prior, extent
        anchors = math.ceil(anchor_fraction * extent**2)
        self.locations = nn.Parameter(_checkerboard(extent, anchors))
        frequency = torch.ones(2)
        self.frequency: Tensor
        if prior == "omega":
            self.frequency = nn.Parameter(frequency)
        else:
            self.register_buffer("frequency", frequency, persistent=False)

    @property
    def n_anchors(self) -> int:
        return len(self.locations)

    def hyperparameters(self) -> list[str]:
        """Parameters without a prior and without curvature."""
        return ["locations"]

    def induce(self, values: Tensor) -> Tensor:
        """values (R, M) at the anchors -> values phi (R, T) on the grid, in the type of the values.

        phi^T u^T = K_zt^T (K_zz + 1e-4 I)^-1 u^T is solved for whichever has fewer columns, phi or u^T: an early layer has
        few channels and many pixels, a late one the other way round."""
        if self.prior == "theta" or len(values) >= self.extent**2:
            return values @ self().to(values.dtype)
        anchors, frequency = self.locations.double(), self.frequency.double()
        coefficients = torch.linalg.solve(self._among(anchors, frequency), values.double().mT)
        return (coefficients.mT @ self._across(anchors, frequency)).to(values.dtype)

    def forward(self) -> Tensor:
        anchors, frequency = self.locations.double(), self.frequency.double()
        basis = torch.linalg.solve(self._among(anchors, frequency), self._across(anchors, frequency))
        if self.prior != "theta":
            return basis
        gram = basis @ basis.mT
        # Two anchors in one place span one function: the jitter keeps the root finite there and is negligible elsewhere.
        return torch.linalg.solve_triangular(_root(gram, 1e-10 * gram.diagonal().mean()), basis, upper=False)

    def slopes(self) -> Tensor:
        """d phi / d omega_i = (K_zz + 1e-4 I)^-1 (d K_zt - d K_zz phi), for frequencies with a prior: (2, M, T)."""
        anchors, grid, frequency = self.locations.double(), self._grid(), self.frequency.double()
        root, basis = _root(_kernel(anchors, anchors, frequency), JITTER), self()
        across, among = _kernel_slopes(anchors, grid, frequency), _kernel_slopes(anchors, anchors, frequency)
        return torch.cholesky_solve(across - among @ basis, root)

    def _among(self, anchors: Tensor, frequency: Tensor) -> Tensor:
        """K_zz + 1e-4 I (M, M). Systems with it are solved as they are: the gradient costs less than a Cholesky root's."""
        return _kernel(anchors, anchors, frequency) + JITTER * _identity_like(anchors)

    def _across(self, anchors: Tensor, frequency: Tensor) -> Tensor:
        """K_zt (M, T): on a grid a product of one factor for each row and one for each column of pixels."""
        axis = torch.arange(self.extent, dtype=anchors.dtype, device=anchors.device)
        rows, columns = (-0.5 * ((anchors.mT[..., None] - axis) * frequency[:, None, None]).square()).exp()
        return (rows[:, :, None] * columns[:, None, :]).flatten(1)

    def _grid(self) -> Tensor:
        axis = torch.arange(self.extent, dtype=torch.float64, device=self.locations.device)
        return torch.cartesian_prod(axis, axis)  # (T, 2)


def _checkerboard(extent: int, count: int) -> Tensor:
    """``count`` pixels (count, 2) of a grid, spread out: of one colour of a checkerboard, whose first colour is half of the
    pixels, rounded up; what is more than that comes from the other colour."""
    pixels = [(row, column) for row in range(extent) for column in range(extent)]
    chosen: list[tuple[int, int]] = []
    for colour in (0, 1):
        candidates = [pixel for pixel in pixels if sum(pixel) % 2 == colour]
        number = min(len(candidates), count - len(chosen))
        chosen += [candidates[index * len(candidates) // number] for index in range(number)]
    return torch.tensor(chosen, dtype=torch.get_default_dtype())


def frequency_rules(basis: SpatialBasis, apply: Callable[[Tensor, Tensor], Tensor]) -> list[BlockRule]:
    """The block of omega, where it has a prior, in a layer that calls its basis ``basis``."""
    return [FrequencyBlock(basis.slopes(), apply)] if basis.prior == "omega" else []


class FrequencyBlock(ExactBlock):
    """omega of a layer whose output is linear in its basis, ``apply(inputs, phi)``: df/d omega_i = <g, apply(x, dphi_i)>."""

    def __init__(self, slopes: Tensor, apply: Callable[[Tensor, Tensor], Tensor]):
        super().__init__("basis.frequency")
        self.slopes, self.apply = slopes, apply

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        slopes = self.slopes.to(inputs.dtype)
        return torch.stack([(self.apply(inputs, slope) * gradients).flatten(1).sum(1) for slope in slopes], 1)


def _kernel(left: Tensor, right: Tensor, frequency: Tensor) -> Tensor:
    """(M, 2), (T, 2) -> (M, T). Squares of distances as |a|^2 - 2 <a, b> + |b|^2: in float64 they lose nothing that counts,
    and no difference of all pairs is written down, neither here nor for the gradient."""
    left, right = left * frequency, right * frequency
    products = left @ right.mT
    return (products - 0.5 * left.square().sum(1, keepdim=True) - 0.5 * right.square().sum(1)).exp()


def _kernel_slopes(left: Tensor, right: Tensor, frequency: Tensor) -> Tensor:
    """d K / d omega_i = -omega_i (a_i - b_i)^2 K: (2, M, T)."""
    squares = (left[:, None] - right[None]).square() * -frequency
    return squares.movedim(-1, 0) * _kernel(left, right, frequency)


def _root(matrix: Tensor, jitter: Tensor | float) -> Tensor:
    """The Cholesky factor of matrix + jitter I."""
    return torch.linalg.cholesky(matrix + jitter * _identity_like(matrix))


def _identity_like(matrix: Tensor) -> Tensor:
    """As many rows, and as many columns, as the matrix has rows."""
    return torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)


@torch.no_grad()
def initialise_writing(weight: Tensor, basis: SpatialBasis, variance: float) -> None:
    """Draw anchor values so that the induced weights s(t) have this variance in the mean over the grid."""
    weight.normal_().mul_((variance**0.5 * basis.extent / basis().norm()).to(weight.dtype))


@torch.no_grad()
def initialise_reading(weight: Tensor, basis: SpatialBasis, variance: float) -> None:
    """Draw anchor values so that sum_t s(t) x(t) has this variance for a map x with E[x(t)^2] = 1 and E[x(t) x(t')] = 1/2.

    Neighbouring weights are alike, and so are pixels of rectified, smooth maps: their products add up. Weights whose
    variances have the right sum, as independent pixels need them, would double the mean square in every layer, and those
    made for constant maps, E[x(t) x(t')] = 1, would let gradients fade."""
    phi = basis()
    expected = (phi.square().sum() + phi.sum(1).square().sum()) / 2
    weight.normal_().mul_((variance / expected).sqrt().to(weight.dtype))
