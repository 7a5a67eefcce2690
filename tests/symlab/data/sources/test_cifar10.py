import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from symlab.data.checksums import Pinned
from symlab.data.sources import cifar10
from symlab.data.sources.cifar10 import FILES, MD5_PREFIXES, Cifar10, mosaic_to_records, parse_records
from symlab.data.watched import AttemptError
from symlab.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)


def mosaic(images: np.ndarray) -> bytes:
    """One row an image: 1024 RGB pixels."""
    buffer = io.BytesIO()
    Image.fromarray(images.reshape(len(images), 1024, 3)).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_mosaic_becomes_records() -> None:
    split = parse_records(mosaic_to_records(mosaic(IMAGES), [3, 1, 4, 1, 5]), "file")
    assert split.targets.tolist() == [3, 1, 4, 1, 5]
    assert split.inputs.shape == (5, 3, 32, 32)
    assert torch.equal(split.inputs.permute(0, 2, 3, 1), torch.from_numpy(IMAGES))


def test_a_record_is_label_red_green_blue() -> None:
    record = mosaic_to_records(mosaic(IMAGES[:1]), [7])
    assert len(record) == 3073
    assert record[0] == 7
    assert record[1:1025] == IMAGES[0, :, :, 0].tobytes()
    assert record[2049:] == IMAGES[0, :, :, 2].tobytes()


def test_a_mosaic_of_another_size_is_refused() -> None:
    with pytest.raises(AttemptError, match="does not hold 4 images"):
        mosaic_to_records(mosaic(IMAGES), [0, 1, 2, 3])


@pytest.mark.parametrize("data", [b"", b"x" * 3072])
def test_a_broken_file_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="not a multiple of 3073"):
        parse_records(data, "file")


@pytest.mark.parametrize("folder", ["cifar10", "cifar-10-batches-bin"])
def test_local_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    (tmp_path / folder).mkdir()
    files = []
    for number, file in enumerate(FILES):
        data = mosaic_to_records(mosaic(IMAGES), [number] * 5)
        (tmp_path / folder / file.name).write_bytes(data)
        files.append(Pinned(file.name, f"sha256:{hashlib.sha256(data).hexdigest()}"))
    monkeypatch.setattr(cifar10, "FILES", tuple(files))
    raw = Cifar10().load(str(tmp_path))
    assert raw.train.targets.tolist() == [number for number in range(5) for _ in range(5)]
    assert raw.test.targets.tolist() == [5] * 5


def test_every_file_has_a_published_prefix() -> None:
    assert list(MD5_PREFIXES) == [file.name for file in FILES]
