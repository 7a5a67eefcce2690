"""FIRST radio galaxies (Griese et al. 2023): 2,158 images in four classes, ``uint8 (N, 1, 300, 300)``.

The PyPI package ``firstgalaxydata`` holds them as PNG files in one zip (``galaxy_data/<split>/<class>/<position>.png``),
pixel for pixel those of its HDF5 file, with its first published split: 1,758 training, 200 validation, 200 test.
"""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from symlab.data.checksums import Pinned, read_pinned
from symlab.data.dataset import RawImages, Split
from symlab.data.fetch import Origin, obtain
from symlab.data.registries import download_url, pip_download, read_zip
from symlab.data.sources.stand_in import stand_in_notes
from symlab.errors import DataError

CLASSES = ("FRI", "FRII", "Compact", "Bent")
FILES = (Pinned("galaxy_data.zip", "sha256:d04a5d45a7a84989e9aed31da8a0adb0a9cce3252bce92ed7585efbc8c24f42a"),)

_PACKAGE = "firstgalaxydata==0.2.1"
_WHEEL = "firstgalaxydata-0.2.1-py3-none-any.whl"
_WHEEL_CHECKSUM = "sha256:5bb01ee0cc2d9f47a2f3b4dfa1282fe9f2eb94cfc1967840e60f6dc184c7a82b"
_URL = "https://zenodo.org/record/7689127/files/galaxy_data.zip?download=1"


def _from_pip(directory: Path, silence: float) -> None:
    wheel = pip_download(_PACKAGE, _WHEEL, _WHEEL_CHECKSUM, directory, silence)
    (directory / FILES[0].name).write_bytes(read_zip(wheel, f"firstgalaxydata/{FILES[0].name}"))


def _from_zenodo(directory: Path, silence: float) -> None:
    download_url(_URL, FILES[0].checksum, directory, silence)


ORIGINS = (Origin(f"pip download {_PACKAGE}", _from_pip), Origin("zenodo.org", _from_zenodo))


def read_split(archive: zipfile.ZipFile, split: str, name: str) -> Split:
    """Images ``uint8 (N, 1, H, W)`` and targets of ``galaxy_data/<split>``, in order of class and file name."""
    images, targets = [], []
    members = sorted(archive.namelist())
    for label, kind in enumerate(CLASSES):
        for member in members:
            if member.startswith(f"galaxy_data/{split}/{kind}/") and member.endswith(".png"):
                images.append(np.array(Image.open(io.BytesIO(archive.read(member))).convert("L")))
                targets.append(label)
    if not images:
        raise DataError(f"{name} holds no images in galaxy_data/{split}: delete it to fetch it again")
    return Split(torch.from_numpy(np.stack(images)).unsqueeze(1), torch.tensor(targets))


@dataclass(frozen=True)
class FirstGalaxies:
    """FIRST radio galaxies from ``<root>/first_galaxies/galaxy_data.zip``, or fetched.

    A source covers a few hundred of the 90,000 pixels around the centre: ``crop`` keeps the central ``crop x crop`` pixels
    (128: 89% of the light), so that a later resize does not wipe it out. None keeps all.
    """

    crop: int | None = 128
    stand_in_for: str | None = None

    def __post_init__(self) -> None:
        if self.crop is not None and self.crop < 1:
            raise DataError(f"data.source.crop is {self.crop}: give a number of pixels or null")

    def load(self, root: str) -> RawImages:
        obtained = obtain("first_galaxies", FILES, ORIGINS, root)
        path = obtained.paths[FILES[0].name]
        with zipfile.ZipFile(io.BytesIO(read_pinned(path, FILES[0]))) as archive:
            train, validation, test = (
                _cropped(read_split(archive, split, str(path)), self.crop) for split in ("train", "valid", "test")
            )
        notes = stand_in_notes("FIRST radio galaxies", self.stand_in_for)
        return RawImages("FIRST radio galaxies", train, test, len(CLASSES), obtained.origin, validation, notes)


def _cropped(split: Split, crop: int | None) -> Split:
    height, width = split.inputs.shape[-2:]
    if crop is None or crop >= min(height, width):
        return split
    top, left = (height - crop) // 2, (width - crop) // 2
    return Split(split.inputs[..., top : top + crop, left : left + crop].clone(), split.targets)
