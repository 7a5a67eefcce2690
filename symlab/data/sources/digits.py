"""scikit-learn's digits: 1,797 images, ``uint8 (N, 1, 8, 8)``. Bundled, so always there: smoke runs use them."""

from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits

from symlab.data.dataset import RawImages
from symlab.data.sources.random_split import random_split
from symlab.data.sources.stand_in import stand_in_notes

_MAX_LEVEL = 16


@dataclass(frozen=True)
class Digits:
    """A random ``test_fraction``, fixed by ``split_seed``, is the test set: the data is published without one."""

    test_fraction: float = 0.2
    split_seed: int = 0
    stand_in_for: str | None = None

    def load(self, root: str) -> RawImages:
        bunch = load_digits()
        images = (torch.from_numpy(bunch.images).unsqueeze(1) * (255 / _MAX_LEVEL)).round().to(torch.uint8)
        targets = torch.from_numpy(bunch.target).to(torch.int64)
        train, test = random_split(images, targets, self.test_fraction, self.split_seed)
        notes = stand_in_notes("scikit-learn digits", self.stand_in_for)
        return RawImages("scikit-learn digits", train, test, 10, "bundled with scikit-learn", notes=notes)
