"""A curvature block seen through its prior: everything a Gaussian posterior needs of H + Delta.

With Delta = diag(delta) the prior precisions of the block and s a scale of the curvature (1, or the change of 1/sigma^2),

    s H + Delta = Delta^1/2 (V (x) U) (diag(x) + I) (V (x) U)^T Delta^1/2,     x_ji = weight m_j l_i

where l and U decompose the inputs' factor, m and V the outputs', after Delta was divided out of the side it lies on
(``spectrum.py``). Hence

    log det (s H + Delta)          = sum log delta + sum log(1 + x)
    effective number of parameters = tr s H (s H + Delta)^-1 = sum x / (1 + x)      ELLA App. D.2 (MacKay 1992)
    (s H + Delta)^-1               = R R^T,   R = Delta^-1/2 (V (x) U) diag(1 + x)^-1/2

and the diagonal of W = Delta^1/2 (s H + Delta)^-1 Delta^1/2, whose entries say how much of a parameter its prior decides,
is the gradient of the log determinant in log delta.

Layout: l (p, D), m (p, E), weight (p,), delta (p or 1, E or 1, D or 1); parameters are (..., p, E, D). Sums over x run
tile by tile, so that the E x D eigenvalues of a block never exist at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from symlab.laplace.factor import Factor

Side = Literal["inputs", "outputs"]

_TILE = 2**20  # eigenvalues held at once: 8 MB


def _prior_share(x: Tensor) -> Tensor:
    return x.add_(1).reciprocal_()


def _data_share(x: Tensor) -> Tensor:
    return x.div_(x + 1)


@dataclass(frozen=True)
class Whitened:
    precision: Tensor  # delta: (p or 1, E or 1, D or 1)
    inputs: Factor
    outputs: Factor
    weight: Tensor  # (p,)

    def log_det(self) -> Tensor:
        products, n_outputs, n_inputs = len(self.weight), self.outputs.size, self.inputs.size
        repeats = products * n_outputs * n_inputs // self.precision.numel()
        return repeats * self.precision.log().sum() + self._reduce(torch.Tensor.log1p_, "outputs").sum()

    def effective_parameters(self, side: Side | None = None) -> Tensor:
        """sum x / (1 + x): a scalar, or spread over each (p, D) input or (p, E) output."""
        return self._share(_data_share, side)

    def prior_share(self, side: Side | None = None) -> Tensor:
        """sum 1 / (1 + x), how many parameters the prior decides: the trace of W, or its diagonal summed to a side."""
        return self._share(_prior_share, side)

    def trace_of_inverse(self) -> Tensor:
        return self.gradient_in_precision().sum()

    def gradient_in_precision(self) -> Tensor:
        """d log det / d delta = diag (s H + Delta)^-1, summed to the shape of delta."""
        if self.precision.shape[1] > 1:
            share = self.prior_share("outputs")[:, :, None]
        elif self.precision.shape[2] > 1:
            share = self.prior_share("inputs")[:, None, :]
        else:
            share = self._reduce(_prior_share, "outputs").sum(-1)[:, None, None]
        if self.precision.shape[0] == 1:
            share = share.sum(0, keepdim=True)
        return share / self.precision

    def gradient_in_factors(self) -> tuple[Tensor, Tensor]:
        """d log det / dA (p, a, d, d) and d log det / dG (p, b, e, e) of ``KroneckerBlock``: the preconditioner of LILA
        Eq. 16.

        With W~ = I + weight A~ (x) G~, d/dA~ = U diag(sum_j weight m_j / (1 + x_ji)) U^T, then Delta's root on both sides.
        """
        outputs = self.outputs.values * self.weight[:, None]
        inputs = self.inputs.values * self.weight[:, None]
        of_inputs = self.inputs.matrix_of(self._reduce(_prior_share, "inputs", outputs))
        of_outputs = self.outputs.matrix_of(self._reduce(_prior_share, "outputs", inputs))
        return self._unwhiten(of_inputs, self.inputs, 2), self._unwhiten(of_outputs, self.outputs, 1)

    def apply_inverse(self, matrix: Tensor) -> Tensor:
        """(s H + Delta)^-1 vec(X) for X (..., p, E, D), in X's dtype (the Jacobians of a float32 network stay float32)."""
        return self.apply_inverse_root(self.apply_inverse_root_transposed(matrix))

    def apply_inverse_root(self, matrix: Tensor) -> Tensor:
        """R vec(X): turns white noise into a draw from N(0, (s H + Delta)^-1)."""
        scaled = matrix * self._inverse_root_values().to(matrix.dtype)
        return self._rotate(self.outputs.rotate, self.inputs.rotate, scaled) * self.precision.rsqrt().to(matrix.dtype)

    def apply_inverse_root_transposed(self, matrix: Tensor) -> Tensor:
        """R^T vec(X): |R^T J|^2 is the variance J (s H + Delta)^-1 J^T."""
        scaled = matrix * self.precision.rsqrt().to(matrix.dtype)
        rotated = self._rotate(self.outputs.rotate_back, self.inputs.rotate_back, scaled)
        return rotated * self._inverse_root_values().to(matrix.dtype)

    def _share(self, function: Callable[[Tensor], Tensor], side: Side | None) -> Tensor:
        if side is None:
            return self._reduce(function, "outputs").sum()
        return getattr(self, side).diagonal_of(self._reduce(function, side))

    def _reduce(self, function: Callable[[Tensor], Tensor], side: Side, weights: Tensor | None = None) -> Tensor:
        """sum function(x) over the other side, with ``weights`` of that side: (p, E) or (p, D) in the eigenbasis."""
        rows, columns = self.outputs.values * self.weight[:, None], self.inputs.values
        total = torch.zeros_like(rows if side == "outputs" else columns)
        for products, outputs in _tiles(len(rows), self.outputs.size, self.inputs.size):
            tile = function(rows[products, outputs, None] * columns[products, None, :])
            if side == "outputs":
                total[products, outputs] = (
                    tile.sum(-1) if weights is None else (tile @ weights[products, :, None]).squeeze(-1)
                )
            else:
                total[products] += tile.sum(1) if weights is None else (weights[products, None, outputs] @ tile).squeeze(1)
        return total

    def prior_values(self) -> Tensor:
        """1 / (1 + x): (p, E, D)."""
        rows = self.outputs.values * self.weight[:, None]
        return (rows[:, :, None] * self.inputs.values[:, None, :]).add_(1).reciprocal_()

    def _inverse_root_values(self) -> Tensor:
        return self.prior_values().sqrt_()

    @staticmethod
    def _rotate(outputs: Callable[[Tensor], Tensor], inputs: Callable[[Tensor], Tensor], matrix: Tensor) -> Tensor:
        return inputs(outputs(matrix).mT).mT

    def _unwhiten(self, gradient: Tensor, factor: Factor, dimension: int) -> Tensor:
        if self.precision.shape[dimension] == 1:
            return gradient
        root = factor.blocked(self.precision.flatten(1).rsqrt())
        return root[..., :, None] * gradient * root[..., None, :]


def _tiles(products: int, n_outputs: int, n_inputs: int) -> Iterator[tuple[slice, slice]]:
    """Slices over products and outputs that together visit every eigenvalue once, at most ``_TILE`` (or one row) at a
    time."""
    if n_outputs * n_inputs <= _TILE:
        step = _TILE // (n_outputs * n_inputs)
        for start in range(0, products, step):
            yield slice(start, start + step), slice(0, n_outputs)
        return
    step = max(1, _TILE // n_inputs)
    for product in range(products):
        for start in range(0, n_outputs, step):
            yield slice(product, product + 1), slice(start, start + step)
