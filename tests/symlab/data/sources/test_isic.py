import dataclasses
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from symlab.data.checksums import checksum_of_file
from symlab.data.sources import isic
from symlab.data.sources.isic import ARCHIVE, CLASSES, LABELS, Isic2019
from symlab.errors import DataError


def jpeg(level: int, size: tuple[int, int] = (20, 15)) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((size[1], size[0], 3), level, dtype=np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ground truth of 20 images, number n of class n modulo 8."""
    path = tmp_path / "HAM10000"
    path.mkdir()
    rows = [",".join([f"ISIC_{n}", *["1.0" if n % 8 == label else "0.0" for label in range(9)]]) for n in range(20)]
    (path / LABELS.name).write_text("\n".join([",".join(["image", *CLASSES]), *rows]) + "\n")
    checksum = checksum_of_file(path / LABELS.name, "sha256")
    monkeypatch.setattr(isic, "LABELS", dataclasses.replace(LABELS, checksum=checksum))
    return path


def store_archive(folder: Path, numbers: range, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / ARCHIVE.name
    with tarfile.open(path, "w") as tar:
        for number in numbers:
            data = jpeg(number * 10)
            info = tarfile.TarInfo(f"images/ISIC_{number}.jpg")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    monkeypatch.setattr(isic, "ARCHIVE", dataclasses.replace(ARCHIVE, checksum=checksum_of_file(path, "sha256")))
    return path


def test_the_part_that_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_archive(folder, range(5, 15), monkeypatch)
    raw = Isic2019(resolution=8).load(str(folder.parent))
    assert (len(raw.train), len(raw.test), raw.n_classes) == (9, 1, 9)
    assert raw.train.inputs.shape[1:] == (3, 8, 8)
    for image, target in zip(raw.train.inputs, raw.train.targets):
        assert round(float(image.float().mean()) / 10) % 8 == int(target)
    assert raw.notes == ("ISIC 2019 is the part that was found: 10 (HAM10000) of 20 images.",)


def test_the_complete_set_in_a_folder(folder: Path) -> None:
    (folder / "ISIC_2019_Training_Input").mkdir()
    for number in range(20):
        (folder / f"ISIC_2019_Training_Input/ISIC_{number}.jpg").write_bytes(jpeg(number, size=(40 + number, 30)))
    raw = Isic2019(resolution=8, test_fraction=0.2).load(str(folder.parent))
    assert (len(raw.train), len(raw.test), raw.notes) == (16, 4, ())


def test_images_without_a_label_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_archive(folder, range(10, 25), monkeypatch)
    raw = Isic2019(resolution=8).load(str(folder.parent))
    assert len(raw.train) + len(raw.test) == 10


def test_a_flipped_byte_in_the_archive_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store_archive(folder, range(10), monkeypatch)
    data = bytearray(path.read_bytes())
    data[600] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=rf"{path} is damaged"):
        Isic2019().load(str(folder.parent))


def test_a_changed_label_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_archive(folder, range(10), monkeypatch)
    path = folder / LABELS.name
    path.write_text(path.read_text().replace("1.0", "1", 1))
    with pytest.raises(DataError, match=rf"{path} is damaged"):
        Isic2019().load(str(folder.parent))


def test_a_broken_image_is_named(folder: Path) -> None:
    (folder / "images").mkdir()
    (folder / "images/ISIC_3.jpg").write_bytes(b"not a jpeg")
    with pytest.raises(DataError, match="ISIC_3 cannot be decoded"):
        Isic2019().load(str(folder.parent))


def test_labels_without_images(folder: Path) -> None:
    with pytest.raises(DataError, match=r"neither ISIC_2019_Training_Input nor images nor images\.tar"):
        Isic2019().load(str(folder.parent))


def test_nothing_there_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"isic2019 cannot be had.*challenge\.isic-archive\.com"):
        Isic2019().load(str(tmp_path))


def test_the_resolution_is_needed(folder: Path) -> None:
    with pytest.raises(DataError, match=r"data\.resolution is null"):
        Isic2019(resolution=None).load(str(folder.parent))
