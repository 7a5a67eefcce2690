import math

import pytest
import torch

from symlab.data.circles import load_circles
from symlab.errors import DataError


def test_rings_and_their_classes():
    data = load_circles(train_size=600, noise=0.01)
    radius = data.train.inputs.norm(dim=1)
    assert data.train.inputs.shape == (600, 2)
    assert ((radius[data.train.targets == 0] - 0.5).abs() < 0.06).all()
    others = radius[data.train.targets == 1]
    assert ((others - 1).abs() < 0.06).sum() == 200
    assert (others < 0.1).sum() == 100


def test_a_sector_is_seen_while_training_and_everything_in_the_test():
    data = load_circles(train_size=600, degrees=120, noise=0.001)
    for split, largest in ((data.train, math.radians(121)), (data.test, 2 * math.pi)):
        ring = split.inputs[split.inputs.norm(dim=1) > 0.3]
        angles = torch.atan2(ring[:, 1], ring[:, 0]) % (2 * math.pi)
        assert 0.95 * largest < angles.max() <= largest


def test_the_seed_decides():
    assert load_circles(seed=1).fingerprint() == load_circles(seed=1).fingerprint() != load_circles().fingerprint()


@pytest.mark.parametrize(("argument", "value"), [("train_size", 3), ("test_size", 0), ("degrees", 0.0), ("degrees", 400.0)])
def test_complaints_name_the_key(argument: str, value: float):
    with pytest.raises(DataError, match=rf"data\.{argument}={value}"):
        load_circles(**{argument: value})
