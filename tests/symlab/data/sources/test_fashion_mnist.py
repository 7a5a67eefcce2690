from pathlib import Path

import pytest

from symlab.data.sources import fashion_mnist
from symlab.data.sources.fashion_mnist import FILES, FashionMnist
from symlab.data.sources.mnist import FILES as MNIST_FILES
from symlab.errors import DataError


def test_it_is_not_mnist() -> None:
    assert [file.name for file in FILES] == [file.name for file in MNIST_FILES]
    assert not {file.checksum for file in FILES} & {file.checksum for file in MNIST_FILES}


def test_without_files_the_error_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fashion_mnist, "ORIGINS", ())
    with pytest.raises(DataError, match=r"fashion_mnist cannot be had.*train-images-idx3-ubyte"):
        FashionMnist().load(str(tmp_path))


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fashion_mnist").mkdir()
    for file in FILES:
        (tmp_path / "fashion_mnist" / file.name).write_bytes(b"\0\0\x08\x01\0\0\0\0")
    with pytest.raises(DataError, match="is damaged or another file"):
        FashionMnist().load(str(tmp_path))
