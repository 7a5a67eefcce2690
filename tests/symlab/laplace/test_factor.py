import torch

from symlab.laplace.factor import Factor, decompose


def matrices(p: int = 2, n: int = 3, k: int = 4, rank: int = 2) -> torch.Tensor:
    root = torch.randn(p, n, k, rank, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return root @ root.mT


def whole(blocks: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.block_diag(*product) for product in blocks])


def test_values_and_vectors_rebuild_the_matrices():
    factor = Factor(matrices())
    rebuilt = factor.vectors @ torch.diag_embed(factor.values.reshape(2, 3, 4)) @ factor.vectors.mT
    torch.testing.assert_close(rebuilt, factor.matrices, rtol=0, atol=1e-12)
    torch.testing.assert_close(factor.matrix_of(factor.values), factor.matrices, rtol=0, atol=1e-12)
    assert (factor.values >= 0).all()


def test_values_do_not_move_when_vectors_are_asked_for():
    factor = Factor(matrices())
    before = factor.values.clone()
    assert factor.vectors.shape == (2, 3, 4, 4)
    assert torch.equal(before, factor.values)
    torch.testing.assert_close(Factor(matrices(), vectors=True).values, before, rtol=0, atol=1e-12)


def test_float32_matrices_are_decomposed_in_float64():
    assert Factor(matrices().float()).values.dtype == torch.float64
    assert Factor(matrices(k=1).float()).vectors.dtype == torch.float64


def test_one_by_one_matrices_need_no_solver():
    factor = Factor(matrices(p=5, n=1, k=1) - 0.1)
    torch.testing.assert_close(factor.values, (matrices(p=5, n=1, k=1) - 0.1).reshape(5, 1).clamp(min=0))
    assert torch.equal(factor.vectors, torch.ones(5, 1, 1, 1, dtype=torch.float64))


def test_rescaling_and_rotations_match_dense_algebra():
    factor = Factor(matrices())
    dense, vectors = whole(factor.matrices), whole(factor.vectors)
    precision = torch.rand(2, 12, dtype=torch.float64) + 0.5
    root = torch.diag_embed(precision.rsqrt())
    torch.testing.assert_close(whole(factor.rescaled(precision).matrices), root @ dense @ root, rtol=0, atol=1e-12)
    matrix = torch.randn(5, 2, 12, 3, dtype=torch.float64)
    torch.testing.assert_close(factor.rotate(matrix), vectors @ matrix, rtol=0, atol=1e-12)
    torch.testing.assert_close(factor.rotate_back(matrix), vectors.mT @ matrix, rtol=0, atol=1e-12)
    expected = (vectors @ torch.diag_embed(precision) @ vectors.mT).diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(factor.diagonal_of(precision), expected, rtol=0, atol=1e-12)


def test_factors_shared_out_to_threads_have_the_values_of_each_alone():
    """One of them twice, as of a weight and its bias."""
    matrices = [torch.randn(2, 3, size, size, dtype=torch.float64) for size in (1, 4, 9)]
    factors = [Factor(matrix @ matrix.mT) for matrix in matrices]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        decompose([*factors, factors[0]])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    for factor in factors:
        assert factor._values is not None
        assert torch.equal(factor.values, Factor(factor.matrices).values)
