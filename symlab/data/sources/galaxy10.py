"""Galaxy10 DECals (Leung & Bovy 2019): 17,736 images of 256x256 in ten classes, in one published HDF5 file of 2.5 GB.

Images are resized while they are read: at full size they would need 3.5 GB of memory.
"""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from symlab.data.checksums import Pinned, verify_file
from symlab.data.dataset import RawImages
from symlab.data.fetch import Origin, obtain
from symlab.data.images import resize
from symlab.data.registries import download_url
from symlab.data.sources.random_split import random_split
from symlab.data.sources.stand_in import stand_in_notes
from symlab.errors import DataError

FILES = (Pinned("Galaxy10_DECals.h5", "sha256:19aefc477c41bb7f77ff07599a6b82a038dc042f889a111b0d4d98bb755c1571"),)

_URL = "https://zenodo.org/records/10845026/files/Galaxy10_DECals.h5"
_ADVICE = f"Download {_URL} on a machine with internet and put it into a data root as galaxy10/{FILES[0].name}"
_CHUNK = 256


def _from_zenodo(directory: Path, silence: float) -> None:
    download_url(_URL, FILES[0].checksum, directory, silence)


ORIGINS = (Origin("zenodo.org", _from_zenodo),)


def import_h5py() -> ModuleType:
    """h5py is needed by this data set only, so it is an extra."""
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise DataError("Galaxy10 is an HDF5 file, but h5py is not installed: run `pip install h5py`") from error
    module: ModuleType = h5py
    return module


def read_images(file: Any, resolution: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    """An open HDF5 file with ``images (N, H, W, 3)`` and ``ans (N,)`` -> ``uint8 (N, 3, R, R)`` and ``int64 (N,)``."""
    chunks = []
    for start in range(0, len(file["images"]), _CHUNK):
        pixels = torch.from_numpy(np.asarray(file["images"][start : start + _CHUNK]))
        chunks.append(resize(pixels.permute(0, 3, 1, 2).contiguous(), resolution))
    return torch.cat(chunks), torch.from_numpy(np.asarray(file["ans"]).astype(np.int64))


@dataclass(frozen=True)
class Galaxy10:
    """Galaxy10 DECals from ``<root>/galaxy10/Galaxy10_DECals.h5``, the root itself, or Zenodo.

    A random ``test_fraction``, fixed by ``split_seed``, is the test set (EquiNAS: 10%).
    """

    resolution: int | None = 64
    test_fraction: float = 0.1
    split_seed: int = 0
    stand_in_for: str | None = None

    def load(self, root: str) -> RawImages:
        h5py = import_h5py()
        obtained = obtain("galaxy10", FILES, ORIGINS, root, folders=(".",), advice=_ADVICE)
        path = obtained.paths[FILES[0].name]
        verify_file(path, FILES[0].checksum)
        with h5py.File(path, "r") as file:
            images, targets = read_images(file, self.resolution)
        train, test = random_split(images, targets, self.test_fraction, self.split_seed)
        notes = stand_in_notes("Galaxy10 DECals", self.stand_in_for)
        return RawImages("Galaxy10 DECals", train, test, 10, obtained.origin, notes=notes)
