"""Eigenvalues of large factors of low rank, against those of the whole matrix."""

import pytest
import torch

from symlab.laplace.factor import LOW_RANK_FROM, Factor, low_rank_eigenvalues

WIDTH, RANK = LOW_RANK_FROM + 8, 40


def gram(rank: int, dtype: torch.dtype) -> torch.Tensor:
    rows = torch.randn(rank, WIDTH, generator=torch.Generator().manual_seed(1), dtype=dtype)
    rows *= torch.logspace(0, -3, rank, dtype=dtype)[:, None]  # a wide spectrum, as layer inputs have
    return rows.mT @ rows


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_values_are_those_of_the_whole_matrix(dtype: torch.dtype, error: float) -> None:
    matrix = gram(RANK, dtype)
    expected = torch.linalg.eigvalsh(matrix.double()).clamp(min=0)
    values = Factor(matrix[None, None], rank=RANK).values[0]
    torch.testing.assert_close(values, expected, rtol=0, atol=error * expected.max().item())
    assert values.shape == expected.shape
    assert torch.count_nonzero(values) < WIDTH / 4  # they came from the projection


def test_a_rank_above_the_bound_is_noticed() -> None:
    matrix = gram(3 * RANK, torch.float64)
    assert low_rank_eigenvalues(matrix, RANK) is None
    expected = torch.linalg.eigvalsh(matrix).clamp(min=0)
    torch.testing.assert_close(Factor(matrix[None, None], rank=RANK).values[0], expected, rtol=0, atol=1e-10)
