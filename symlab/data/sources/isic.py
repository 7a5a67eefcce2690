"""ISIC 2019: dermoscopic images of eight diagnoses and a null class, read at ``uint8 (N, 3, R, R)``.

Labels come from ISIC_2019_Training_GroundTruth.csv (25,331 rows). The images are those found beside it, in the folder
``ISIC_2019_Training_Input`` or ``images``, or in ``images.tar`` (the HAM10000 part, 10,015 images). They differ in size, so
each is resized to a square, aspect ratio not kept, while it is read. The data needs a registration, so nothing is fetched.
"""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

from symlab.data.checksums import Pinned, read_pinned, reading, verify_file
from symlab.data.dataset import RawImages
from symlab.data.roots import find_file, parse_roots
from symlab.data.sources.random_split import random_split
from symlab.data.sources.stand_in import stand_in_notes
from symlab.errors import DataError

LABELS = Pinned(
    "ISIC_2019_Training_GroundTruth.csv", "sha256:c193a9a94c538f0043de56fa680f02b436b6c308691da3aac24c2e9cf375b6bb"
)
ARCHIVE = Pinned("images.tar", "sha256:5dfbfb25a1874530bb95f0bea39f823976a0ff0d750bf757c56f3a78aa787c1e")
CLASSES = ("MEL", "NV", "BCC", "AK", "BKL", "DF", "VASC", "SCC", "UNK")

_FOLDERS = ("isic2019", "ISIC_2019", "HAM10000", ".")
_IMAGE_FOLDERS = ("ISIC_2019_Training_Input", "images")
_ADVICE = f"get it from https://challenge.isic-archive.com/data and put {LABELS.name} and the images into <root>/isic2019"


def image_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Name (without ending) and bytes of every image in the folder or the archive, in order of name or as archived."""
    for name in _IMAGE_FOLDERS:
        directory = folder / name
        with reading(directory):
            paths = sorted(directory.glob("*.jpg")) if directory.is_dir() else []
        for path in paths:
            with reading(path):
                data = path.read_bytes()
            yield path.stem, data
        if paths:
            return
    archive = folder / ARCHIVE.name
    if not archive.is_file():
        raise DataError(f"{folder} holds {LABELS.name} but neither {' nor '.join(_IMAGE_FOLDERS)} nor images.tar: {_ADVICE}")
    verify_file(archive, ARCHIVE.checksum, remedy="copy it again, or unpack it into a folder `images` beside it")
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file is not None and member.name.endswith(".jpg"):
                yield Path(member.name).stem, file.read()


def decode(data: bytes, resolution: int, name: str) -> np.ndarray:
    """JPEG bytes -> ``uint8 (R, R, 3)``."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            # Lets the JPEG decoder skip detail beyond twice the wanted size: a photograph of 1024 pixels decodes 10x faster.
            image.draft("RGB", (2 * resolution, 2 * resolution))
            return np.asarray(image.convert("RGB").resize((resolution, resolution), Image.Resampling.BILINEAR))
    except OSError as error:
        raise DataError(f"ISIC image {name} cannot be decoded ({error}): copy it again") from error


@dataclass(frozen=True)
class Isic2019:
    """Those ISIC 2019 images found in a root. A random ``test_fraction``, fixed by ``split_seed``, is the test set."""

    resolution: int | None = 64
    test_fraction: float = 0.1
    split_seed: int = 0
    stand_in_for: str | None = None

    def load(self, root: str) -> RawImages:
        if self.resolution is None:
            raise DataError("data.resolution is null, but ISIC images differ in size: set it, EquiNAS uses 64")
        roots = parse_roots(root)
        path = find_file(roots, [f"{folder}/{LABELS.name}" for folder in _FOLDERS])
        if path is None:
            raise DataError(f"isic2019 cannot be had: no {LABELS.name} in a folder of data.root {root}: {_ADVICE}")
        table = pd.read_csv(io.BytesIO(read_pinned(path, LABELS)), index_col="image")
        labels = dict(zip(table.index, table[list(CLASSES)].to_numpy().argmax(axis=1).tolist(), strict=True))
        images, targets = [], []
        for name, data in image_files(path.parent):
            if name in labels:
                images.append(decode(data, self.resolution, name))
                targets.append(labels[name])
        if not images:
            raise DataError(f"none of the images in {path.parent} is named in {LABELS.name}: {_ADVICE}")
        pixels = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()
        train, test = random_split(pixels, torch.tensor(targets), self.test_fraction, self.split_seed)
        notes = _part_note(len(images), len(labels), path.parent) + stand_in_notes("ISIC 2019", self.stand_in_for)
        return RawImages("ISIC 2019", train, test, len(CLASSES), f"local {path.parent}", notes=notes)


def _part_note(found: int, total: int, folder: Path) -> tuple[str, ...]:
    if found == total:
        return ()
    part = " (HAM10000)" if folder.name == "HAM10000" else ""
    return (f"ISIC 2019 is the part that was found: {found:,}{part} of {total:,} images.",)
