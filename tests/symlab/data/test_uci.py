import gzip
import hashlib
from pathlib import Path

import pytest
import torch

from symlab.data import uci
from symlab.data.uci import N_SPLITS, load_uci, read_table, split_table
from symlab.errors import DataError

ROWS = torch.randn(40, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3 + 5


def table(path: Path, rows: list[list[float]]) -> str:
    data = gzip.compress("\n".join(",".join(map(repr, row)) for row in rows).encode(), mtime=0)
    path.write_bytes(data)
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of the name wine, the row's index modulo 10 being the split it is a test row of."""
    folder = tmp_path / "uci/wine"
    folder.mkdir(parents=True)
    mask = [[float(row % N_SPLITS == split) for split in range(N_SPLITS)] for row in range(40)]
    checksums = table(folder / "data.csv.gz", ROWS.tolist()), table(folder / "test_mask.csv.gz", mask)
    monkeypatch.setitem(uci.CHECKSUMS, "wine", checksums)
    return str(tmp_path)


def test_the_published_split(root: str) -> None:
    dataset = load_uci("wine", root, split=3)
    test_rows = ROWS[3::10]
    torch.testing.assert_close(dataset.test.inputs, test_rows[:, :-1].float())
    torch.testing.assert_close(
        dataset.test.targets * dataset.target_std + dataset.target_mean, test_rows[:, -1].float(), rtol=1e-5, atol=1e-5
    )
    assert (len(dataset.train), len(dataset.test), dataset.n_classes, dataset.input_shape) == (36, 4, 0, (3,))


def test_training_rows_are_standardised(root: str) -> None:
    dataset = load_uci("wine", root)
    values = dataset.normalise(dataset.train.inputs)
    torch.testing.assert_close(values.mean(dim=0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(values.std(dim=0, unbiased=False), torch.ones(3), atol=1e-5, rtol=0)
    assert float(dataset.train.targets.mean()) == pytest.approx(0, abs=1e-5)
    assert float(dataset.train.targets.std(unbiased=False)) == pytest.approx(1, abs=1e-5)


def test_validation_is_cut_off(root: str) -> None:
    dataset = load_uci("wine", root, train_size=20, validation_size=6)
    assert dataset.validation is not None
    assert (len(dataset.train), len(dataset.validation)) == (20, 6)


def test_a_constant_column_is_no_problem() -> None:
    rows = torch.cat([torch.ones(40, 1), ROWS], dim=1)
    dataset = split_table("toy", rows, torch.arange(40) < 4, None, 0, 0)
    assert dataset.std[0] == 1
    assert dataset.normalise(dataset.train.inputs).isfinite().all()


def test_a_flipped_byte_is_refused(root: str) -> None:
    path = Path(root) / "uci/wine/data.csv.gz"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(DataError, match=r"uci/wine/data\.csv\.gz is damaged"):
        load_uci("wine", root)


@pytest.mark.parametrize("split", [-1, 10])
def test_an_unknown_split_names_the_key(root: str, split: int) -> None:
    with pytest.raises(DataError, match=rf"data\.split={split}"):
        load_uci("wine", root, split=split)


def test_an_unknown_table_names_the_key(root: str) -> None:
    with pytest.raises(DataError, match=r"data\.name='beer'"):
        load_uci("beer", root)  # type: ignore[arg-type]


def test_text_is_not_a_table() -> None:
    with pytest.raises(DataError, match="file is not a table"):
        read_table(gzip.compress(b"a,b"), "file")
