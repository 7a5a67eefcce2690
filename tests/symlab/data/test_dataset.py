import pytest
import torch

from symlab.data.dataset import Dataset, Split
from symlab.errors import DataError


def images(seed: int = 0) -> Dataset:
    generator = torch.Generator().manual_seed(seed)

    def split(count: int) -> Split:
        inputs = torch.randint(0, 256, (count, 3, 4, 4), generator=generator).to(torch.uint8)
        return Split(inputs, torch.arange(count) % 5)

    return Dataset("toy", split(12), None, split(6), n_classes=5, mean=(0.1, 0.2, 0.3), std=(0.5, 1.0, 2.0))


def test_a_split_needs_one_target_per_input() -> None:
    with pytest.raises(DataError, match="3 inputs but 2 targets"):
        Split(torch.zeros(3, 1), torch.zeros(2))


def test_shapes_and_outputs() -> None:
    dataset = images()
    assert dataset.input_shape == (3, 4, 4)
    assert dataset.n_outputs == 5
    assert len(dataset.train) == 12
    assert list(dataset.splits) == ["train", "test"]


def test_normalise_images() -> None:
    dataset = images()
    batch = dataset.train.inputs[:2]
    found = dataset.normalise(batch)
    assert found.dtype == torch.float32
    for channel, (mean, std) in enumerate(zip(dataset.mean, dataset.std)):
        torch.testing.assert_close(found[:, channel], (batch[:, channel].float() / 255 - mean) / std)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_normalise_tables(dtype: torch.dtype) -> None:
    rows = torch.tensor([[1.0, 4.0], [3.0, 8.0]], dtype=dtype)
    split = Split(rows, torch.zeros(2))
    table = Dataset("table", split, None, split, n_classes=0, mean=(2.0, 6.0), std=(1.0, 2.0))
    assert table.n_outputs == 1
    wide = Split(rows, torch.zeros(2, 3))
    assert Dataset("table", wide, None, wide, n_classes=0, mean=(2.0, 6.0), std=(1.0, 2.0)).n_outputs == 3
    torch.testing.assert_close(table.normalise(rows), torch.tensor([[-1.0, -1.0], [1.0, 1.0]], dtype=dtype))


def test_fingerprint_is_stable_and_short() -> None:
    first, again = images().fingerprint(), images().fingerprint()
    assert first == again
    assert len(first) == 16
    assert int(first, 16) >= 0


def test_fingerprint_changes_with_one_pixel() -> None:
    before, changed = images(), images()
    changed.test.inputs[3, 1, 2, 2] ^= 1
    assert before.fingerprint() != changed.fingerprint()


def test_fingerprint_changes_with_one_target() -> None:
    before, changed = images(), images()
    changed.train.targets[0] += 1
    assert before.fingerprint() != changed.fingerprint()


def test_to_keeps_everything() -> None:
    dataset = images()
    assert dataset.to("cpu").fingerprint() == dataset.fingerprint()


def test_wrong_number_of_constants_is_refused() -> None:
    split = Split(torch.zeros(2, 3, 4, 4, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(DataError, match=r"data\.mean and data\.std"):
        Dataset("toy", split, None, split, n_classes=2, mean=(0.0,), std=(1.0,))


def test_zero_std_is_refused() -> None:
    split = Split(torch.zeros(2, 1, 4, 4, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(DataError, match="positive"):
        Dataset("toy", split, None, split, n_classes=2, mean=(0.0,), std=(0.0,))
