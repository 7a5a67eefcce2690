import dataclasses
import gzip
import hashlib
from pathlib import Path

import pytest
import torch

from symlab.data.checksums import checksum_of
from symlab.data.idx import write_idx
from symlab.data.sources import mnist
from symlab.data.sources.mnist import FILES, Mnist, csv_rows
from symlab.errors import DataError

GENERATOR = torch.Generator().manual_seed(0)
TENSORS = {
    "train-images-idx3-ubyte": torch.randint(0, 256, (20, 28, 28), generator=GENERATOR).to(torch.uint8),
    "train-labels-idx1-ubyte": (torch.arange(20) % 10).to(torch.uint8),
    "t10k-images-idx3-ubyte": torch.randint(0, 256, (10, 28, 28), generator=GENERATOR).to(torch.uint8),
    "t10k-labels-idx1-ubyte": torch.arange(10).to(torch.uint8),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pins the checksums of a small MNIST, and no origin but the local roots."""
    files = []
    for file in FILES:
        data = write_idx(TENSORS[file.name])
        compressed = checksum_of(gzip.compress(data, mtime=0), "md5")
        checksum = f"sha256:{hashlib.sha256(data).hexdigest()}"
        files.append(dataclasses.replace(file, checksum=checksum, compressed=(compressed,)))
    monkeypatch.setattr(mnist, "FILES", tuple(files))
    monkeypatch.setattr(mnist, "ORIGINS", ())


def store(folder: Path, compressed: bool = False) -> None:
    folder.mkdir(parents=True)
    for name, tensor in TENSORS.items():
        data = write_idx(tensor)
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data, mtime=0))
        else:
            (folder / name).write_bytes(data)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("folder", ["mnist", "MNIST/raw"])
def test_local_layouts(tmp_path: Path, folder: str, compressed: bool) -> None:
    store(tmp_path / folder, compressed)
    raw = Mnist().load(str(tmp_path))
    assert torch.equal(raw.train.inputs[:, 0], TENSORS["train-images-idx3-ubyte"])
    assert raw.test.targets.tolist() == list(range(10))
    assert raw.train.targets.dtype == torch.int64
    assert raw.origin == f"local {tmp_path / folder}"
    assert (raw.n_classes, raw.notes) == (10, ())


def test_a_flipped_byte_is_a_hard_error(tmp_path: Path) -> None:
    store(tmp_path / "mnist")
    path = tmp_path / "mnist/train-images-idx3-ubyte"
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=rf"{path} is damaged .* delete it to fetch it again"):
        Mnist().load(str(tmp_path))


def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path / "mnist")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte cannot be read \(Permission denied\)"):
        Mnist().load(str(tmp_path))


def test_a_stand_in_says_so(tmp_path: Path) -> None:
    store(tmp_path / "mnist")
    assert Mnist(stand_in_for="rotMNIST").load(str(tmp_path)).notes == ("MNIST in the place of rotMNIST.",)


def test_construction_does_no_input_or_output() -> None:
    assert Mnist() == Mnist()


def test_csv_rows() -> None:
    assert csv_rows(b"label,1x1,1x2\n7,0,255\n1,3,4\n").tolist() == [[7, 0, 255], [1, 3, 4]]
