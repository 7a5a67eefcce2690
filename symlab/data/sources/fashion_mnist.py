"""Fashion-MNIST: 60,000 training and 10,000 test images of clothes, ``uint8 (N, 1, 28, 28)``."""

from dataclasses import dataclass
from pathlib import Path

from symlab.data.checksums import Pinned, read_pinned
from symlab.data.dataset import RawImages
from symlab.data.fetch import Origin, obtain
from symlab.data.registries import apt_download
from symlab.data.sources.idx_images import (
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    read_images,
    torchvision_origin,
)
from symlab.data.sources.stand_in import stand_in_notes

# Compressed twice: by the authors (torchvision's MD5 sums) and by Debian.
FILES = (
    Pinned(
        TRAIN_IMAGES,
        "sha256:c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        (
            "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "sha256:b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
        ),
    ),
    Pinned(
        TRAIN_LABELS,
        "sha256:bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        (
            "md5:25c81989df183df01b3e8a0aad5dffbe",
            "sha256:0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
        ),
    ),
    Pinned(
        TEST_IMAGES,
        "sha256:5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        (
            "md5:bef4ecab320f06d8554ea6380940ec79",
            "sha256:cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
        ),
    ),
    Pinned(
        TEST_LABELS,
        "sha256:0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        (
            "md5:bb300cfdad3c16e7a12a480ee83cd310",
            "sha256:8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
        ),
    ),
)

_PACKAGE = "dataset-fashion-mnist"
_PACKAGE_CHECKSUM = "sha256:39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0"


def _from_debian(directory: Path, silence: float) -> None:
    unpacked = apt_download(_PACKAGE, _PACKAGE_CHECKSUM, directory, silence)
    for file in FILES:
        compressed = unpacked / "usr/share/datasets/fashion-mnist" / f"{file.name}.gz"
        (directory / file.name).write_bytes(read_pinned(compressed, file))


ORIGINS = (torchvision_origin("FashionMNIST", FILES), Origin(f"apt-get download {_PACKAGE}", _from_debian))


@dataclass(frozen=True)
class FashionMnist:
    """Fashion-MNIST from ``<root>/fashion_mnist``, torchvision's or Debian's folder in a root, or fetched.

    With the Debian package installed, ``/usr/share/datasets`` is such a root.
    """

    stand_in_for: str | None = None

    def load(self, root: str) -> RawImages:
        obtained = obtain("fashion_mnist", FILES, ORIGINS, root, folders=("FashionMNIST/raw", "fashion-mnist"))
        return read_images("Fashion-MNIST", obtained, FILES, stand_in_notes("Fashion-MNIST", self.stand_in_for))
