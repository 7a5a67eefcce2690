import pytest
import torch

from symlab.data.subsets import choose, split_train, stream
from symlab.errors import DataError

TARGETS = torch.randint(0, 4, (200,), generator=torch.Generator().manual_seed(1))


def split(
    train_size: int | None, validation_size: int = 0, balanced: bool = False, seed: int = 0
) -> tuple[set[int], set[int]]:
    train, validation = split_train(TARGETS, train_size, validation_size, balanced, stream(seed, "test"))
    return set(train.tolist()), set(validation.tolist())


def test_streams_differ_by_seed_and_purpose() -> None:
    draws = [torch.rand(1, generator=stream(seed, purpose)).item() for seed in (0, 1) for purpose in ("a", "b")]
    assert len(set(draws)) == 4
    assert torch.rand(1, generator=stream(0, "a")).item() == draws[0]


def test_all_in_published_order() -> None:
    train, validation = split_train(TARGETS, None, 0, False, stream(0, "test"))
    assert train.tolist() == list(range(200))
    assert len(validation) == 0


def test_small_training_sets_are_part_of_larger_ones() -> None:
    assert split(20)[0] < split(50)[0] < split(None)[0]


@pytest.mark.parametrize("balanced", [False, True])
def test_the_validation_set_does_not_depend_on_the_training_size(balanced: bool) -> None:
    small, large = split(20, 40, balanced), split(80, 40, balanced)
    assert small[1] == large[1]
    assert len(large[1]) == 40
    assert not large[0] & large[1]


def test_the_seed_matters() -> None:
    assert split(50, seed=0) != split(50, seed=1)
    assert split(50, seed=0) == split(50, seed=0)


@pytest.mark.parametrize(("size", "counts"), [(40, [10, 10, 10, 10]), (42, [11, 11, 10, 10]), (3, [1, 1, 1, 0])])
def test_balanced_counts(size: int, counts: list[int]) -> None:
    chosen = sorted(split(size, balanced=True)[0])
    assert torch.bincount(TARGETS[chosen], minlength=4).tolist() == counts


def test_balanced_without_a_size_takes_the_rarest_class_count() -> None:
    chosen = sorted(split(None, balanced=True)[0])
    rarest = int(torch.bincount(TARGETS).min())
    assert torch.bincount(TARGETS[chosen]).tolist() == [rarest] * 4


def test_classes_without_examples_are_left_out() -> None:
    targets = torch.tensor([0, 2, 0, 2, 5, 5])
    assert sorted(choose(torch.arange(6), targets, 3, True, "size").tolist()) == [0, 1, 4]


@pytest.mark.parametrize("size", [0, -1, 201])
def test_an_impossible_size_names_the_key(size: int) -> None:
    with pytest.raises(DataError, match=rf"data\.train_size={size} but there are 200 examples"):
        split(size)


def test_the_validation_set_must_leave_something() -> None:
    with pytest.raises(DataError, match=r"data\.validation_size=200"):
        split(None, 200)


def test_too_few_of_a_class_names_it() -> None:
    with pytest.raises(DataError, match=r"needs 2 of class 1, which has 1.*class_balanced=false"):
        choose(torch.arange(5), torch.tensor([0, 0, 0, 0, 1]), 5, True, "data.train_size")
