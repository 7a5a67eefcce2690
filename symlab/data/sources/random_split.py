"""A fixed random test set for data that is published without one."""

import torch
from torch import Tensor

from symlab.data.dataset import Split
from symlab.data.subsets import stream
from symlab.errors import DataError


def random_split(images: Tensor, targets: Tensor, test_fraction: float, seed: int) -> tuple[Split, Split]:
    """Training and test split; a rounded ``test_fraction`` of the data is the test set, both in published order."""
    count = round(test_fraction * len(targets))
    if not 0 < count < len(targets):
        raise DataError(f"data.source.test_fraction={test_fraction} leaves a split of {len(targets)} examples empty")
    order = torch.randperm(len(targets), generator=stream(seed, "test split"))
    test, train = order[:count].sort().values, order[count:].sort().values
    return Split(images[train], targets[train]), Split(images[test], targets[test])
