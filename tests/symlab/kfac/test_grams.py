import pytest
import torch

from symlab.kfac.grams import accumulate_gram, gram, mirror


@pytest.mark.parametrize("shape", [(1, 1, 1, 7, 5), (1, 1, 1, 9, 500), (1, 1, 3, 7, 5), (2, 3, 1, 7, 5), (2, 1, 4, 7, 5)])
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
