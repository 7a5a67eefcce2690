import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from symlab.data.checksums import Pinned
from symlab.data.sources import first_galaxies
from symlab.data.sources.first_galaxies import CLASSES, FirstGalaxies
from symlab.errors import DataError


def png(level: int) -> bytes:
    buffer = io.BytesIO()
    pixels = np.full((6, 6), level, dtype=np.uint8)
    pixels[1:5, 1] = np.arange(100, 104)
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def store(root: Path, monkeypatch: pytest.MonkeyPatch, splits: tuple[str, ...]) -> None:
    (root / "first_galaxies").mkdir()
    path = root / "first_galaxies/galaxy_data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("galaxy_data/all/FRI/1.0_2.0_0_MiraBest.png", png(200))
        for number, split in enumerate(splits):
            for label, kind in enumerate(CLASSES):
                archive.writestr(f"galaxy_data/{split}/{kind}/1.0_2.0_{label}_MiraBest.png", png(10 * number + label))
    checksum = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    monkeypatch.setattr(first_galaxies, "FILES", (Pinned("galaxy_data.zip", checksum),))


def test_the_published_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path, monkeypatch, ("train", "valid", "test"))
    raw = FirstGalaxies().load(str(tmp_path))
    assert raw.validation is not None
    for number, split in enumerate((raw.train, raw.validation, raw.test)):
        assert split.targets.tolist() == [0, 1, 2, 3]
        assert split.inputs[:, 0, 0, 0].tolist() == [10 * number + label for label in range(4)]
    assert raw.train.inputs.shape == (4, 1, 6, 6)
    assert raw.n_classes == 4


def test_an_archive_without_a_split_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path, monkeypatch, ("train", "valid"))
    with pytest.raises(DataError, match="holds no images in galaxy_data/test"):
        FirstGalaxies().load(str(tmp_path))


def test_the_centre_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path, monkeypatch, ("train", "valid", "test"))
    whole, part = (FirstGalaxies(crop=crop).load(str(tmp_path)).train.inputs for crop in (None, 4))
    assert part.shape == (4, 1, 4, 4)
    assert torch.equal(part, whole[..., 1:5, 1:5])


def test_a_bad_crop_names_the_key() -> None:
    with pytest.raises(DataError, match=r"data\.source\.crop is 0"):
        FirstGalaxies(crop=0)
