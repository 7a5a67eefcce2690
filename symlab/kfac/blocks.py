"""Curvature blocks: what a pass over the data leaves behind, whatever the structure.

The generalised Gauss-Newton matrix of N data points is kept block by block, one block per parameter tensor (or per layer,
where weight and bias are taken jointly). Each block is a set of p independent Kronecker products

    H_i = 1/rows  A_i (x) G_i,      i = 1..p,

where A_i = sum a a^T over layer inputs and G_i = sum g Lambda g^T over output gradients are themselves block-diagonal:

    inputs   (p, a, d, d)    p products, a diagonal blocks of size d x d;    D = a d inputs
    outputs  (p, b, e, e)    p products, b diagonal blocks of size e x e;    E = b e outputs

The block's parameters, flattened and joined in the order of ``names``, are p matrices (E, D) in row-major order; a bias
taken jointly with its weight is the last column. ``rows`` counts the terms of each sum (data points times shared
positions), so that blocks of different parts of the data add up: inputs, outputs and rows are all plain sums.

All structures have this form:
    KFAC       p = groups of a convolution, a and b > 1 where a factor is block-diagonal
    diagonal   p = number of parameters, every factor 1 x 1
    full       p = 1, A = 1, G = the dense matrix over all parameters
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class KroneckerBlock:
    names: tuple[str, ...]  # full names of the parameters, as in model.named_parameters()
    shapes: tuple[tuple[int, ...], ...]
    inputs: Tensor  # (p, a, d, d)
    outputs: Tensor  # (p, b, e, e)
    rows: float
    summed: float | None = None  # terms that were really summed, where ``rows`` was scaled up to more data

    @property
    def input_rank(self) -> float:
        """The rank that an input factor (over all its diagonal blocks) cannot exceed."""
        return self.rows if self.summed is None else self.summed

    @property
    def products(self) -> int:
        return self.inputs.shape[0]

    @property
    def n_inputs(self) -> int:
        return self.inputs.shape[1] * self.inputs.shape[2]

    @property
    def n_outputs(self) -> int:
        return self.outputs.shape[1] * self.outputs.shape[2]

    @property
    def n_parameters(self) -> int:
        return self.products * self.n_inputs * self.n_outputs

    def __add__(self, other: "KroneckerBlock") -> "KroneckerBlock":
        """The block of both parts of the data together."""
        if self.names != other.names:
            raise ValueError(f"blocks of {self.names} and {other.names} do not add up")
        inputs, outputs = self.inputs + other.inputs, self.outputs + other.outputs
        summed = self.input_rank + other.input_rank
        return KroneckerBlock(self.names, self.shapes, inputs, outputs, self.rows + other.rows, summed)

    def dense(self) -> Tensor:
        """(P, P): the block written out, in the order of the flattened parameters. For small blocks: tests and pictures."""
        products = []
        for inputs, outputs in zip(self.inputs, self.outputs, strict=True):
            products.append(torch.kron(torch.block_diag(*outputs), torch.block_diag(*inputs)) / self.rows)
        matrix = torch.block_diag(*products)
        if len(self.names) == 1:
            return matrix
        positions = torch.arange(self.n_parameters).reshape(self.products, self.n_outputs, self.n_inputs)
        order = torch.cat([part.reshape(-1) for part in self.split(positions)])
        return matrix[order][:, order]

    def join(self, tensors: Sequence[Tensor]) -> Tensor:
        """Tensors of the parameters' shapes (with leading dimensions ... in common) -> (..., p, E, D)."""
        leading = tensors[0].shape[: tensors[0].dim() - len(self.shapes[0])]
        if self.n_inputs == 1:  # a bias, a diagonal or a dense matrix: parameters follow each other as rows
            return torch.cat([tensor.reshape(*leading, self.products, -1, 1) for tensor in tensors], -2)
        return torch.cat([tensor.reshape(*leading, self.products, self.n_outputs, -1) for tensor in tensors], -1)

    def split(self, matrices: Tensor) -> list[Tensor]:
        """The inverse of ``join``: (..., p, E, D) -> one tensor of each parameter's shape."""
        sizes = [torch.Size(shape).numel() // self.products for shape in self.shapes]
        if self.n_inputs == 1:
            parts = matrices.split(sizes, -2)
        else:
            parts = matrices.split([size // self.n_outputs for size in sizes], -1)
        return [part.reshape(*matrices.shape[:-3], *shape) for part, shape in zip(parts, self.shapes, strict=True)]
