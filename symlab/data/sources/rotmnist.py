"""rotMNIST (Larochelle et al. 2007): 12,000 training and 50,000 test digits at random angles, ``uint8 (N, 1, 28, 28)``.

Larochelle's two ``.amat`` text files (a line per image: 784 values in 0..1, row by row, then the label) are read if they lie
in a root, loose or in ``mnist_rotation_new.zip``. Otherwise the data is made again from MNIST: 62,000 of its 70,000 images
chosen at random, each rotated by U(-180, 180) degrees; every table that used it says so.
"""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import torch

from symlab.data.checksums import reading, verify_file
from symlab.data.dataset import RawImages, Split
from symlab.data.roots import find_file, parse_roots
from symlab.data.sources.mnist import Mnist
from symlab.data.sources.stand_in import stand_in_notes
from symlab.data.subsets import stream
from symlab.data.variants import Affine
from symlab.errors import DataError

N_TRAIN, N_TEST = 12_000, 50_000
_ARCHIVE = "mnist_rotation_new.zip"
_ARCHIVE_CHECKSUM = "md5:0f9a947ff3d30e95cd685462cbf3b847"
_TRAIN = "mnist_all_rotation_normalized_float_train_valid.amat"
_TEST = "mnist_all_rotation_normalized_float_test.amat"
_FOLDERS = ("rotmnist", "mnist_rotation_new", ".")
_COLUMNS = 785


def parse_amat(lines: IO[str], count: int, name: str) -> Split:
    """``count`` lines of 784 values and a label."""
    try:
        rows = np.loadtxt(lines, dtype=np.float32, ndmin=2)
    except ValueError as error:
        raise DataError(f"{name} is not a table of numbers: download {_ARCHIVE} again") from error
    if rows.shape != (count, _COLUMNS) or rows.min() < 0 or rows[:, :-1].max() > 1:
        raise DataError(f"{name} is not {count} lines of 784 values in 0..1 and a label: download {_ARCHIVE} again")
    images = torch.from_numpy((rows[:, :-1] * 255).round().astype(np.uint8)).view(-1, 1, 28, 28)
    return Split(images, torch.from_numpy(rows[:, -1].astype(np.int64)))


@dataclass(frozen=True)
class RotMnist:
    """Larochelle's files if found, else regenerated from MNIST with ``regeneration_seed``."""

    regeneration_seed: int = 0
    stand_in_for: str | None = None

    def load(self, root: str) -> RawImages:
        notes = stand_in_notes("rotMNIST", self.stand_in_for)
        published = _published(parse_roots(root))
        if published is not None:
            train, test, origin = published
            return RawImages("rotMNIST", train, test, 10, origin, notes=notes)
        train, test, origin = self._regenerate(root)
        seed = self.regeneration_seed
        sentence = f"rotMNIST was regenerated from MNIST with seed {seed}: Larochelle's files were not found."
        return RawImages("rotMNIST (regenerated)", train, test, 10, origin, notes=(sentence, *notes))

    def _regenerate(self, root: str) -> tuple[Split, Split, str]:
        mnist = Mnist().load(root)
        images = torch.cat([mnist.train.inputs, mnist.test.inputs])
        targets = torch.cat([mnist.train.targets, mnist.test.targets])
        chosen = torch.randperm(len(targets), generator=stream(self.regeneration_seed, "rotMNIST choice"))
        variant = Affine(max_degrees=180.0)
        parameters = variant.draw(len(targets), stream(self.regeneration_seed, "rotMNIST angles"))
        splits = []
        for indices in (chosen[:N_TRAIN], chosen[N_TRAIN : N_TRAIN + N_TEST]):
            splits.append(Split(variant.transform(images[indices], parameters[indices]), targets[indices]))
        return splits[0], splits[1], f"regenerated from MNIST ({mnist.origin})"


def _published(roots: tuple[Path, ...]) -> tuple[Split, Split, str] | None:
    loose = [find_file(roots, [f"{folder}/{name}" for folder in _FOLDERS]) for name in (_TRAIN, _TEST)]
    if loose[0] is not None and loose[1] is not None:
        splits = []
        for path, count in ((loose[0], N_TRAIN), (loose[1], N_TEST)):
            with reading(path), path.open() as lines:
                splits.append(parse_amat(lines, count, str(path)))
        return splits[0], splits[1], f"local {loose[0].parent}"
    archive = find_file(roots, [f"{folder}/{_ARCHIVE}" for folder in _FOLDERS])
    if archive is None:
        return None
    verify_file(archive, _ARCHIVE_CHECKSUM, remedy="download it again, or delete it to regenerate from MNIST")
    with zipfile.ZipFile(archive) as file:
        train, test = (
            parse_amat(io.TextIOWrapper(file.open(name)), count, f"{archive}/{name}")
            for name, count in ((_TRAIN, N_TRAIN), (_TEST, N_TEST))
        )
    return train, test, f"local {archive}"
