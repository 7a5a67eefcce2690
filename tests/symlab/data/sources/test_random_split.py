import pytest
import torch

from symlab.data.sources.random_split import random_split
from symlab.errors import DataError


def test_every_example_is_in_one_split() -> None:
    train, test = random_split(torch.arange(50), torch.arange(50), 0.1, seed=0)
    assert len(test) == 5
    assert sorted(train.targets.tolist() + test.targets.tolist()) == list(range(50))
    assert torch.equal(train.inputs, train.targets)


@pytest.mark.parametrize("fraction", [0.0, 1.0, 0.001])
def test_an_empty_split_names_the_key(fraction: float) -> None:
    with pytest.raises(DataError, match=r"data\.source\.test_fraction"):
        random_split(torch.arange(50), torch.arange(50), fraction, seed=0)
