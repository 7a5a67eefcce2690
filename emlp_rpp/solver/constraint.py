"""The constraint C v = 0 as an operator: C stacks rho(h_i) - 1 and d rho(A_j) (thesis, Eq. 2.6), never formed.

``gram(v)`` is C^H C v, applied factor by factor; a call costs O((M + D) k s N) for k factors of size s.
"""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from emlp_rpp.representations.representation import Term, term_size
from emlp_rpp.solver.modes import apply_mode_sum, apply_modes


class Constraint:
    def __init__(self, term: Term):
        self.term, self.size = term, term_size(term)
        complex_valued = any(np.iscomplexobj(atom.discrete) for atom in term)
        self.dtype = torch.complex128 if complex_valued else torch.float64
        count = len(term[0].discrete), len(term[0].algebra)
        self.discrete = [[self._tensor(atom.discrete[i]) for atom in term] for i in range(count[0])]
        self.algebra = [[self._tensor(atom.algebra[i]) for atom in term] for i in range(count[1])]

    def _tensor(self, matrix: np.ndarray) -> Tensor:
        return torch.tensor(matrix, dtype=self.dtype)

    def images(self, vectors: Tensor) -> list[Tensor]:
        """C v, generator by generator."""
        moved = [apply_modes(factors, vectors) - vectors for factors in self.discrete]
        return moved + [apply_mode_sum(factors, vectors) for factors in self.algebra]

    def gram(self, vectors: Tensor) -> Tensor:
        total = torch.zeros_like(vectors)
        for factors in self.discrete:
            moved = apply_modes(factors, vectors) - vectors
            total += apply_modes([factor.mH for factor in factors], moved) - moved
        for factors in self.algebra:
            total += apply_mode_sum([factor.mH for factor in factors], apply_mode_sum(factors, vectors))
        return total

    @cached_property
    def dense(self) -> Tensor:
        """(rows, size), for small problems."""
        return torch.cat(self.images(torch.eye(self.size, dtype=self.dtype)))

    def residual(self, vectors: Tensor) -> float:
        """The largest norm over generators and columns."""
        if not vectors.numel():
            return 0.0
        return max((float(image.norm(dim=0).max()) for image in self.images(vectors)), default=0.0)
