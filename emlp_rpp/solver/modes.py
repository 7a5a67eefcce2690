"""Kronecker products applied factor by factor: (M_1 (x) .. (x) M_k) v without the product. Layout (N, columns), last factor
fastest."""

from collections.abc import Sequence

from torch import Tensor


def apply_mode(matrix: Tensor, at: int, sizes: Sequence[int], vectors: Tensor) -> Tensor:
    """(1 (x) M (x) 1) v with M at factor ``at``."""
    left = 1
    for size in sizes[:at]:
        left *= size
    return (matrix @ vectors.reshape(left, sizes[at], -1)).reshape(vectors.shape)


def apply_modes(matrices: Sequence[Tensor], vectors: Tensor) -> Tensor:
    sizes = [len(matrix) for matrix in matrices]
    for at, matrix in enumerate(matrices):
        vectors = apply_mode(matrix, at, sizes, vectors)
    return vectors


def apply_mode_sum(matrices: Sequence[Tensor], vectors: Tensor) -> Tensor:
    """sum_i (1 (x) M_i (x) 1) v."""
    sizes = [len(matrix) for matrix in matrices]
    total = apply_mode(matrices[0], 0, sizes, vectors)
    for at in range(1, len(matrices)):
        total = total + apply_mode(matrices[at], at, sizes, vectors)
    return total
