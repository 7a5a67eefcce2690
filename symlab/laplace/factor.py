"""One side of a Kronecker product and its eigendecomposition, taken once and kept block-diagonal.

    M_i = blockdiag(M_i1 .. M_in),   M_ij = V_ij diag(values_ij) V_ij^T,     i = 1..p

    matrices (p, n, k, k)    p products, n diagonal blocks of size k x k, symmetric and positive semi-definite
    values   (p, n k)        in the order of the blocks, clamped at 0: rounding makes some of a rank-deficient sum negative
    vectors  (p, n, k, k)    columns

Values alone cost a third of a decomposition, so vectors wait until they are asked for. All algebra is float64; the
matrices are kept as they came.

A factor summed over few terms is a large matrix of low rank r. Its values are then those of Q^T M Q, where Q (k, r + a few)
spans M Omega for a random Omega: products instead of a reduction to tridiagonal form. What this leaves out is known exactly,
trace M - sum of values, and must be of the order of rounding; otherwise all of M is decomposed.
"""

import math
from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor

from symlab.kfac.parallel import share_out

LARGE = 2048  # from this size on, a decomposition keeps all threads busy by itself
LOW_RANK_FROM = 512  # smaller matrices are decomposed as quickly as they are projected
OVERSAMPLING = 8
LEFT_OUT = 1e-6  # of the trace: what rounding leaves in the sum of thousands of float32 products


class Factor:
    """``rank``: an upper bound on the rank of each diagonal block, if one is known."""

    def __init__(self, matrices: Tensor, vectors: bool = False, rank: float = math.inf):
        self.matrices = matrices.detach()
        self.rank = rank
        self._values: Tensor | None = None
        self._vectors: Tensor | None = None
        if vectors:
            self._decompose()

    @property
    def size(self) -> int:
        return self.matrices.shape[1] * self.matrices.shape[2]

    @property
    def values(self) -> Tensor:
        if self._values is None:
            values = self._eigenvalues(self.matrices.double())
            self._values = values.reshape(len(values), -1).clamp(min=0)
        return self._values

    def _eigenvalues(self, matrices: Tensor) -> Tensor:
        width = matrices.shape[-1]
        if width == 1:  # a million 1 x 1 matrices of a diagonal block would be a million calls to a solver
            return matrices
        if width >= LOW_RANK_FROM and self.rank + OVERSAMPLING < width / 3:
            found = low_rank_eigenvalues(matrices, int(self.rank) + OVERSAMPLING)
            if found is not None:
                return found
        return torch.linalg.eigvalsh(matrices)

    @property
    def vectors(self) -> Tensor:
        if self._vectors is None:
            self._decompose()
        assert self._vectors is not None
        return self._vectors

    def _decompose(self) -> None:
        if self.matrices.shape[-1] == 1:
            self._vectors = torch.ones_like(self.matrices, dtype=torch.float64)
            return
        values, self._vectors = torch.linalg.eigh(self.matrices.double())
        if self._values is None:  # values seen before stay as they were, to the last bit
            self._values = values.flatten(1).clamp(min=0)

    def rescaled(self, precision: Tensor) -> "Factor":
        """Delta^-1/2 M Delta^-1/2 with Delta = diag(precision), (p, n k) or (1, n k)."""
        root = self.blocked(precision.double().rsqrt())
        return Factor(root[..., :, None] * self.matrices.double() * root[..., None, :], vectors=True)

    def diagonal_of(self, values: Tensor) -> Tensor:
        """The diagonal of V diag(values) V^T, (p, n k) -> (p, n k)."""
        return (self.vectors.square() @ self.blocked(values)[..., None]).flatten(1)

    def matrix_of(self, values: Tensor) -> Tensor:
        """V diag(values) V^T, (p, n k) -> (p, n, k, k)."""
        return (self.vectors * self.blocked(values)[..., None, :]) @ self.vectors.mT

    def rotate(self, matrix: Tensor) -> Tensor:
        """V X for X (..., p, n k, m), in X's dtype."""
        return self._times(self.vectors, matrix)

    def rotate_back(self, matrix: Tensor) -> Tensor:
        """V^T X for X (..., p, n k, m), in X's dtype."""
        return self._times(self.vectors.mT, matrix)

    def _times(self, vectors: Tensor, matrix: Tensor) -> Tensor:
        blocks = matrix.unflatten(-2, (vectors.shape[-3], vectors.shape[-1]))  # (..., p, n, k, m)
        # One product over all leading dimensions; a broadcast matmul would copy the vectors for each of them.
        return torch.einsum("pnjk,...pnkm->...pnjm", vectors.to(matrix.dtype), blocks).flatten(-3, -2)

    def blocked(self, values: Tensor) -> Tensor:
        return values.unflatten(-1, (self.matrices.shape[1], self.matrices.shape[2]))


def low_rank_eigenvalues(matrices: Tensor, rank: int) -> Tensor | None:
    """Positive semi-definite (..., k, k) of at most this rank -> (..., k) in ascending order; None if the rank is higher."""
    width = matrices.shape[-1]
    generator = torch.Generator(matrices.device).manual_seed(0)
    probes = torch.randn(width, rank, dtype=matrices.dtype, device=matrices.device, generator=generator)
    basis, _ = torch.linalg.qr(matrices @ probes)
    values = torch.linalg.eigvalsh(basis.mT @ (matrices @ basis))
    trace = matrices.diagonal(dim1=-2, dim2=-1).sum(-1)
    if bool((trace - values.sum(-1) > LEFT_OUT * trace).any()):
        return None
    return torch.cat([values.new_zeros(*values.shape[:-1], width - rank), values], -1)


def decompose(factors: Iterable[Factor], vectors: bool = False) -> None:
    """The values of all factors, or values and ``vectors``. Threads that share a small decomposition mostly wait for each
    other, so on a processor each takes other factors."""
    alone: list[Factor] = []
    shared: list[Factor] = []
    for factor in factors:
        wide, on_processor = factor.matrices.shape[-1] >= LARGE, factor.matrices.device.type == "cpu"
        (alone if wide or not on_processor else shared).append(factor)

    def take(factor: Factor) -> None:
        factor.vectors if vectors else factor.values  # noqa: B018  (kept by the factor)

    for factor in alone:
        take(factor)
    distinct = {id(factor): factor for factor in shared}.values()
    widest_first = sorted(distinct, key=lambda factor: -factor.matrices.shape[-1])
    share_out([partial(take, factor) for factor in widest_first], torch.get_num_threads())
