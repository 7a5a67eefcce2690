"""What a solution is: Q with orthonormal columns that span {v: rho(g) v = v for all g}, and what vouches for it.

Layout: ``dense()`` is (size, rank), float64 or complex128. Bases keep their own compact form; everything a layer needs
(``combine`` coefficients, ``coefficients`` of a tensor, ``project``) is available without forming Q where that is cheaper.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

import torch
from torch import Tensor

from emlp_rpp.errors import ProblemTooLargeError


@dataclass(frozen=True)
class Certificate:
    """``method``: which path solved it. ``residual``: the largest norm of (rho(h) - 1) q and d rho(A) q over generators and
    basis elements q; 0 where integers decide. ``gap``: the smallest value taken for non-zero over the largest taken for zero
    wherever a rank was decided; inf where no number was near."""

    method: str
    residual: float = 0.0
    gap: float = inf


class Basis(ABC):
    """``size`` coordinates, ``rank`` columns."""

    size: int
    rank: int
    certificate: Certificate

    @abstractmethod
    def _dense(self) -> Tensor: ...

    @property
    def dense_bytes(self) -> int:
        """Of ``dense()`` in float64."""
        return 8 * self.size * self.rank

    def dense(self, limit_bytes: int = 8 * 2**30) -> Tensor:
        """Q, (size, rank); a ProblemTooLargeError above ``limit_bytes``."""
        if self.dense_bytes > limit_bytes:
            raise ProblemTooLargeError(
                f"a dense basis of {self.size:,} x {self.rank:,} numbers needs {self.dense_bytes / 2**30:.1f} GiB, more "
                f"than the limit of {limit_bytes / 2**30:.1f} GiB: raise the limit or use project, combine and coefficients"
            )
        return self._matrix

    @cached_property
    def _matrix(self) -> Tensor:
        return self._dense()

    def combine(self, coefficients: Tensor) -> Tensor:
        """(..., rank) -> (..., size): Q c."""
        return coefficients @ self.dense().to(coefficients).mT

    def coefficients(self, vectors: Tensor) -> Tensor:
        """(..., size) -> (..., rank): Q^H v."""
        return vectors @ self.dense().to(vectors).conj()

    def project(self, vectors: Tensor) -> Tensor:
        """(..., size): Q Q^H v, the nearest invariant tensor."""
        return self.combine(self.coefficients(vectors))


class DenseBasis(Basis):
    def __init__(self, matrix: Tensor, certificate: Certificate):
        self.size, self.rank = matrix.shape
        self.matrix, self.certificate = matrix, certificate

    def _dense(self) -> Tensor:
        return self.matrix


class KroneckerBasis(Basis):
    """Of G_1 x G_2 x ... on a product of their spaces: all products of columns (thesis, A.1.7)."""

    def __init__(self, factors: Sequence[Basis]):
        self.factors = tuple(factors)
        self.size, self.rank = prod(f.size for f in factors), prod(f.rank for f in factors)
        methods = " (x) ".join(factor.certificate.method for factor in factors)
        residual = sum(factor.certificate.residual for factor in factors)
        self.certificate = Certificate(methods, residual, min(factor.certificate.gap for factor in factors))

    def _dense(self) -> Tensor:
        product = torch.ones(1, 1, dtype=torch.float64)
        for factor in self.factors:
            matrix = factor.dense()
            kind = torch.promote_types(product.dtype, matrix.dtype)
            product = torch.kron(product.to(kind), matrix.to(kind))
        return product


class TransposedBasis(Basis):
    """The basis of the same factors in another order: axis ``axes[i]`` of the new tensor is axis i of the old one."""

    def __init__(self, basis: Basis, shape: Sequence[int], axes: Sequence[int]):
        self.basis, self.shape, self.axes = basis, tuple(shape), tuple(axes)
        self.size, self.rank, self.certificate = basis.size, basis.rank, basis.certificate

    def _dense(self) -> Tensor:
        order = sorted(range(len(self.axes)), key=lambda i: self.axes[i])
        tensor = self.basis.dense().reshape(*self.shape, self.rank)
        return tensor.permute(*order, len(order)).reshape(self.size, self.rank)
