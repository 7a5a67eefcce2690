"""The basis of a sum: the bases of its summands, copy after copy; nothing couples them (thesis, Eq. 2.9)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from emlp_rpp.solver.basis import Basis, Certificate


class SumBasis(Basis):
    def __init__(self, blocks: Sequence[tuple[int, Basis]]):
        self.blocks = tuple(blocks)
        self.size = sum(copies * basis.size for copies, basis in blocks)
        self.rank = sum(copies * basis.rank for copies, basis in blocks)
        certificates = [basis.certificate for _, basis in blocks]
        self.certificate = Certificate(
            ", ".join(dict.fromkeys(each.method for each in certificates)) or "nothing",
            max((each.residual for each in certificates), default=0.0),
            min((each.gap for each in certificates), default=float("inf")),
        )

    def _dense(self) -> Tensor:
        return torch.block_diag(*(basis.dense() for copies, basis in self.blocks for _ in range(copies)))

    def combine(self, coefficients: Tensor) -> Tensor:
        parts, at = [], 0
        for copies, basis in self.blocks:
            own = coefficients[..., at : at + copies * basis.rank].unflatten(-1, (copies, basis.rank))
            parts.append(basis.combine(own).flatten(-2))
            at += copies * basis.rank
        return torch.cat(parts, dim=-1)

    def coefficients(self, vectors: Tensor) -> Tensor:
        parts, at = [], 0
        for copies, basis in self.blocks:
            own = vectors[..., at : at + copies * basis.size].unflatten(-1, (copies, basis.size))
            parts.append(basis.coefficients(own).flatten(-2))
            at += copies * basis.size
        return torch.cat(parts, dim=-1)
