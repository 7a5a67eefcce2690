"""What MNIST and Fashion-MNIST share: four IDX files, 60,000 and 10,000 images of 28x28 in ten classes."""

import gzip
from pathlib import Path

import torch
from torch import Tensor

from symlab.data.checksums import Pinned, read_pinned
from symlab.data.dataset import RawImages, Split
from symlab.data.fetch import Obtained, Origin
from symlab.data.idx import parse_idx
from symlab.data.registries import torchvision_download

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
N_CLASSES = 10


def read_images(name: str, obtained: Obtained, files: tuple[Pinned, ...], notes: tuple[str, ...]) -> RawImages:
    """Verifies and parses the four files: images ``uint8 (N, 1, 28, 28)``, targets ``int64 (N,)``."""
    tensors: dict[str, Tensor] = {}
    for file in files:
        path = obtained.paths[file.name]
        tensors[file.name] = parse_idx(read_pinned(path, file), str(path))
    train = Split(tensors[TRAIN_IMAGES].unsqueeze(1), tensors[TRAIN_LABELS].to(torch.int64))
    test = Split(tensors[TEST_IMAGES].unsqueeze(1), tensors[TEST_LABELS].to(torch.int64))
    return RawImages(name, train, test, N_CLASSES, obtained.origin, notes=notes)


def torchvision_origin(dataset: str, files: tuple[Pinned, ...]) -> Origin:
    """torchvision leaves the unpacked files in ``<class>/raw``."""

    def fetch(directory: Path, silence: float) -> None:
        raw = torchvision_download(dataset, directory, silence) / dataset / "raw"
        for file in files:
            if (raw / file.name).is_file():
                (raw / file.name).rename(directory / file.name)
            elif (raw / f"{file.name}.gz").is_file():
                (directory / file.name).write_bytes(gzip.decompress((raw / f"{file.name}.gz").read_bytes()))

    return Origin(f"torchvision.datasets.{dataset}", fetch)
