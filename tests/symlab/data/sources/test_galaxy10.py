"""h5py is an extra: a stand-in module reads the 'file' as a dictionary of arrays."""

import sys
from pathlib import Path
from types import ModuleType, TracebackType

import numpy as np
import pytest
import torch

from symlab.data.checksums import Pinned, checksum_of_file
from symlab.data.sources import galaxy10
from symlab.data.sources.galaxy10 import FILES, Galaxy10
from symlab.errors import DataError

PIXELS = np.random.default_rng(0).integers(0, 256, (20, 16, 16, 3), dtype=np.uint8)


class FakeFile(dict[str, np.ndarray]):
    def __init__(self, path: Path, mode: str):
        super().__init__(images=PIXELS, ans=np.arange(20, dtype=np.uint8) % 10)

    def __enter__(self) -> "FakeFile":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


@pytest.fixture
def fake_h5py(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("h5py")
    module.File = FakeFile  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "h5py", module)
    monkeypatch.setattr(galaxy10, "ORIGINS", ())


@pytest.mark.usefixtures("fake_h5py")
@pytest.mark.parametrize("folder", ["galaxy10", "."])
def test_images_are_resized_and_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    path = tmp_path / folder / FILES[0].name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"hdf5")
    monkeypatch.setattr(galaxy10, "FILES", (Pinned(FILES[0].name, checksum_of_file(path, "sha256")),))
    raw = Galaxy10(resolution=8).load(str(tmp_path))
    assert (len(raw.train), len(raw.test)) == (18, 2)
    assert raw.train.inputs.shape[1:] == (3, 8, 8)
    whole = Galaxy10(resolution=None).load(str(tmp_path))
    assert torch.equal(whole.train.inputs[0].permute(1, 2, 0), torch.from_numpy(PIXELS)[0])


@pytest.mark.usefixtures("fake_h5py")
def test_a_damaged_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / FILES[0].name).write_bytes(b"hdf5")
    with pytest.raises(DataError, match=r"Galaxy10_DECals\.h5 is damaged"):
        Galaxy10().load(str(tmp_path))


@pytest.mark.usefixtures("fake_h5py")
def test_without_the_file_the_advice_names_url_and_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"galaxy10 cannot be had.*zenodo\.org/.*as galaxy10/Galaxy10_DECals\.h5"):
        Galaxy10().load(str(tmp_path))


def test_without_h5py_the_command_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(DataError, match="pip install h5py"):
        Galaxy10().load(str(tmp_path))
