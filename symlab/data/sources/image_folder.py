"""Images of one's own: a folder with one subfolder for each class, ``uint8 (N, C, R, R)``.

Classes are the subfolders in alphabetical order. Images may lie deeper inside, differ in size and have any format Pillow
reads; each is turned upright as its camera noted and resized to a square, aspect ratio not kept. If all of them are grey,
there is one channel, otherwise three.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image, ImageOps

from symlab.data.checksums import reading
from symlab.data.dataset import Dataset, RawImages
from symlab.data.pipeline import build
from symlab.data.sources.random_split import random_split
from symlab.data.variants import Variant
from symlab.errors import DataError

_LAYOUT = "it needs one subfolder of images for each class"
_GREY_MODES = ("1", "L", "LA", "I;16", "I", "F")


def class_folders(folder: Path) -> list[Path]:
    """The subfolders, at least two."""
    if not folder.is_dir():
        state = "is no folder" if folder.exists() else "does not exist"
        raise DataError(f"data.path={folder} {state}: give a folder of images, {_LAYOUT}")
    with reading(folder):
        found = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if len(found) < 2:
        names = ", ".join(path.name for path in found) or "none"
        raise DataError(f"data.path={folder} has fewer than two subfolders ({names}): {_LAYOUT}")
    return found


def image_files(folder: Path) -> list[Path]:
    """Every file with an ending of an image format, at any depth, in order of path."""
    endings = Image.registered_extensions()
    with reading(folder):
        found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in endings and path.is_file())
    if not found:
        raise DataError(f"{folder} is a class without an image: {_LAYOUT}; remove it or fill it")
    return found


def read_image(path: Path, resolution: int) -> np.ndarray:
    """``uint8 (R, R)`` of a grey image, ``(R, R, 3)`` of another one."""
    try:
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image)
            converted = upright.convert("L" if image.mode in _GREY_MODES else "RGB")
            return np.asarray(converted.resize((resolution, resolution), Image.Resampling.BILINEAR))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} cannot be read as an image ({error}): copy it again or remove it") from error


@dataclass(frozen=True)
class ImageFolder:
    """A random ``test_fraction``, fixed by ``split_seed``, is the test set."""

    path: str
    resolution: int = 28
    test_fraction: float = 0.2
    split_seed: int = 0

    def load(self, root: str = "") -> RawImages:
        """``root`` is not used: ``path`` says where the images are."""
        if self.resolution < 1:
            raise DataError(f"data.resolution is {self.resolution}: give a number of pixels")
        folder = Path(self.path).expanduser()
        folders = class_folders(folder)
        images, targets = zip(*self._labelled(folders))
        grey = all(image.ndim == 2 for image in images)
        pixels = np.stack([image if grey or image.ndim == 3 else np.stack([image] * 3, -1) for image in images])
        stacked = torch.from_numpy(pixels[:, None] if grey else pixels.transpose(0, 3, 1, 2)).contiguous()
        train, test = random_split(stacked, torch.tensor(targets), self.test_fraction, self.split_seed)
        name = f"{folder.name} ({', '.join(path.name for path in folders)})"
        return RawImages(name, train, test, len(folders), f"local {folder}")

    def _labelled(self, folders: list[Path]) -> Iterator[tuple[np.ndarray, int]]:
        for label, folder in enumerate(folders):
            for path in image_files(folder):
                yield read_image(path, self.resolution), label


def load_image_folder(
    path: str,
    resolution: int = 28,
    test_fraction: float = 0.2,
    variant: Variant | None = None,
    train_size: int | None = None,
    validation_size: int | None = None,
    test_size: int | None = None,
    class_balanced: bool = False,
    normalisation: Literal["standardise", "none", "fixed"] = "standardise",
    mean: list[float] | None = None,
    std: list[float] | None = None,
    seed: int = 0,
) -> Dataset:
    """The folder's images through the same pipeline as every other data set; ``seed`` also decides the test set."""
    source = ImageFolder(path, resolution, test_fraction, split_seed=seed)
    return build(
        source,
        root="",
        variant=variant,
        train_size=train_size,
        validation_size=validation_size,
        test_size=test_size,
        class_balanced=class_balanced,
        normalisation=normalisation,
        mean=mean,
        std=std,
        seed=seed,
    )
