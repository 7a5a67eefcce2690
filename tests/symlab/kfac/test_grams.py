import pytest
import torch

from symlab.kfac.grams import accumulate_gram, block_edges, gram, mirror


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 7, 5), (1, 1, 1, 9, 500), (1, 1, 1, 9, 70), (1, 1, 3, 7, 5), (2, 3, 1, 7, 5), (2, 1, 4, 7, 5)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_accumulated_and_mirrored_is_the_gram_matrix(shape, dtype):
    torch.manual_seed(0)
    rows, more = torch.randn(shape), torch.randn(shape)
    total = torch.zeros(*shape[:2], shape[-1], shape[-1], dtype=dtype)
    accumulate_gram(total, rows)
    accumulate_gram(total, more)
    mirror(total)
    expected = torch.einsum("pbqrd,pbqre->pbde", rows.double(), rows.double())
    expected += torch.einsum("pbqrd,pbqre->pbde", more.double(), more.double())
    torch.testing.assert_close(total.double(), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(gram(rows) + gram(more), expected.float(), rtol=1e-4, atol=1e-4)
    assert torch.equal(total, total.mT)


@pytest.mark.parametrize("width", [1, 63, 64, 65, 127, 500, 784])
def test_blocks_cover_the_matrix_in_order(width):
    edges = block_edges(width)
    assert (edges[0], edges[-1]) == (0, width)
    assert edges == sorted(set(edges))
    assert all(edge % 16 == 0 for edge in edges[:-1])
