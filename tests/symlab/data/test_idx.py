import pytest
import torch

from symlab.data.idx import parse_idx, write_idx
from symlab.errors import DataError


def test_a_file_spelled_out() -> None:
    data = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255])
    assert parse_idx(data, "file").tolist() == [[1, 2, 3], [4, 5, 255]]


def test_writing_is_the_inverse() -> None:
    values = torch.randint(0, 256, (3, 4, 5), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    assert torch.equal(parse_idx(write_idx(values), "file"), values)


@pytest.mark.parametrize("data", [b"", b"\0\0\x08", b"\x1f\x8b\x08\x01", b"\0\0\x09\x01\0\0\0\x01a"])
def test_something_else_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="file is not an IDX file"):
        parse_idx(data, "file")


@pytest.mark.parametrize("change", [-1, 1])
def test_a_wrong_length_is_refused(change: int) -> None:
    data = write_idx(torch.zeros(2, 3, dtype=torch.uint8))
    data = data[:-1] if change < 0 else data + b"\0"
    with pytest.raises(DataError, match="does not fit its header"):
        parse_idx(data, "file")
