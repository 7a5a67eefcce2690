"""UCI regression tables with the ten published train/test splits of github.com/treforevans/uci_datasets (MIT licence).

``<root>/uci/<name>/data.csv.gz`` has a row an example, the last column is the target; ``test_mask.csv.gz`` has a column a
split, 1 where the row is a test example. Inputs stay as published, ``float32 (N, D)``: ``Dataset.normalise`` standardises
them with the training statistics; targets, ``float32 (N,)``, are standardised here, and ``target_std`` undoes it.
"""

import gzip
import io
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from symlab.data.checksums import Pinned, read_pinned
from symlab.data.dataset import Dataset, Split
from symlab.data.fetch import Obtained, Origin, obtain
from symlab.data.registries import download_url
from symlab.data.subsets import split_train, stream
from symlab.errors import DataError

N_SPLITS = 10
_DATA, _MASK = "data.csv.gz", "test_mask.csv.gz"
CHECKSUMS = {
    "energy": (
        "sha256:431b6df04243db782bbcd45e408373a654334496ebe5d9c9985ab2e826a39f51",
        "sha256:217df2cd4cabf818390e26a65384ea113c95b75bd687787a37ed2f87f28c9bb8",
    ),
    "fertility": (
        "sha256:625fa438350ac2da26eafef2c9dd3878755ef707af309c7f441df14412899e29",
        "sha256:e1e050098d05e1938f12724c4cedb87228b68943f345e5c9bcb66f75b5a100ee",
    ),
    "pendulum": (
        "sha256:f342636da3047aeb5393a3163974f50e94098c1df9392423e61161eedac2de9e",
        "sha256:1da77f6e2b2fe40c6ee4a26b708eb2ef7803d825144259791a37470b573523ac",
    ),
    "wine": (
        "sha256:e2ca3346651ddb43fbc6a1355e70e74b7ce68f93059e04405e9cb749c219eae2",
        "sha256:df80c2a700eafb42230991dd7a94c08d47baea55dde125a0a0dcae08964d4559",
    ),
}
_URL = "https://raw.githubusercontent.com/treforevans/uci_datasets/master/uci_datasets"


def pinned_files(name: str) -> tuple[Pinned, Pinned]:
    if name not in CHECKSUMS:
        raise DataError(f"data.name={name!r} is not a known UCI table: give one of {', '.join(CHECKSUMS)}")
    data, mask = CHECKSUMS[name]
    return Pinned(_DATA, data), Pinned(_MASK, mask)


def obtain_uci(name: str, root: str) -> Obtained:
    """The two files of one table."""
    files = pinned_files(name)

    def from_github(directory: Path, silence: float) -> None:
        for file in files:
            download_url(f"{_URL}/{name}/{file.name}", file.checksum, directory, silence)

    return obtain(f"uci/{name}", files, (Origin("github.com/treforevans/uci_datasets", from_github),), root)


def read_table(data: bytes, name: str) -> Tensor:
    """A compressed CSV of numbers without header -> ``float64 (N, D)``."""
    try:
        rows = np.loadtxt(io.StringIO(gzip.decompress(data).decode()), delimiter=",", ndmin=2)
    except ValueError as error:
        raise DataError(f"{name} is not a table of numbers: delete it to fetch it again") from error
    return torch.from_numpy(rows)


def load_uci(
    name: Literal["energy", "fertility", "pendulum", "wine"],
    root: str,
    split: int = 0,
    train_size: int | None = None,
    validation_size: int = 0,
    seed: int = 0,
) -> Dataset:
    """One table with published split ``split`` (0 to 9); validation examples are cut off the training set."""
    files = pinned_files(name)
    if not 0 <= split < N_SPLITS:
        raise DataError(f"data.split={split}: give 0 to {N_SPLITS - 1}, the published splits")
    paths = obtain_uci(name, root).paths
    rows, mask = (read_table(read_pinned(paths[file.name], file), str(paths[file.name])) for file in files)
    if rows.shape[0] != mask.shape[0] or mask.shape[1] != N_SPLITS:
        raise DataError(f"uci/{name}: {tuple(rows.shape)} data and {tuple(mask.shape)} mask do not fit: delete both")
    return split_table(f"UCI {name}", rows, mask[:, split] == 1, train_size, validation_size, seed)


def split_table(
    name: str, rows: Tensor, is_test: Tensor, train_size: int | None, validation_size: int, seed: int
) -> Dataset:
    """``rows (N, D + 1)`` with the target last, ``is_test (N,)`` -> the data set, with statistics of its training part."""
    training, testing = rows[~is_test], rows[is_test]
    train_indices, validation_indices = split_train(
        torch.zeros(len(training), dtype=torch.int64), train_size, validation_size, False, stream(seed, "subset/train")
    )
    train = training[train_indices]
    mean, std = train.mean(dim=0), train.std(dim=0, unbiased=False)
    std = torch.where(std > 0, std, torch.ones_like(std))

    def standardised(part: Tensor) -> Split:
        return Split(part[:, :-1].float(), ((part[:, -1] - mean[-1]) / std[-1]).float())

    return Dataset(
        name=name,
        train=standardised(train),
        validation=standardised(training[validation_indices]) if validation_size else None,
        test=standardised(testing),
        n_classes=0,
        mean=tuple(mean[:-1].tolist()),
        std=tuple(std[:-1].tolist()),
        target_mean=float(mean[-1]),
        target_std=float(std[-1]),
    )
