from dataclasses import dataclass
from typing import Any

import pytest
import torch

from symlab.data.dataset import Dataset, RawImages, Split
from symlab.data.pipeline import build
from symlab.data.variants import Affine, Quadrants
from symlab.errors import DataError


def random_split(count: int, seed: int) -> Split:
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 256, (count, 1, 12, 12), generator=generator).to(torch.uint8)
    return Split(images, torch.randint(0, 10, (count,), generator=generator))


@dataclass(frozen=True)
class Toy:
    with_validation: bool = False

    def load(self, root: str) -> RawImages:
        validation = random_split(30, 3) if self.with_validation else None
        return RawImages("toy", random_split(200, 1), random_split(60, 2), 10, f"made in {root}", validation, ("A note.",))


def make(**arguments: Any) -> Dataset:
    return build(arguments.pop("source", Toy()), "nowhere", **arguments)


def rows(split: Split) -> set[bytes]:
    return {image.numpy().tobytes() for image in split.inputs}


def test_everything_as_published_by_default() -> None:
    dataset, raw = make(), Toy().load("")
    assert torch.equal(dataset.train.inputs, raw.train.inputs)
    assert torch.equal(dataset.test.targets, raw.test.targets)
    assert dataset.validation is None
    assert (dataset.name, dataset.n_classes, dataset.notes) == ("toy", 10, ("A note.",))


def test_sizes() -> None:
    dataset = make(train_size=50, validation_size=20, test_size=10)
    assert dataset.validation is not None
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (50, 20, 10)
    assert not rows(dataset.train) & rows(dataset.validation)


@pytest.mark.parametrize("variant", [Affine(180.0), Quadrants("digit_and_quadrant")], ids=str)
def test_a_subset_sees_the_same_images_as_the_whole(variant: Any) -> None:
    whole, part = make(variant=variant, resolution=8), make(variant=variant, resolution=8, train_size=30, test_size=10)
    assert rows(part.train) <= rows(whole.train)
    assert rows(part.test) <= rows(whole.test)


def test_training_and_test_images_have_different_streams() -> None:
    @dataclass(frozen=True)
    class Same:
        def load(self, root: str) -> RawImages:
            return RawImages("same", random_split(40, 1), random_split(40, 1), 10, "")

    dataset = make(source=Same(), variant=Affine(180.0))
    assert not torch.equal(dataset.train.inputs, dataset.test.inputs)


def test_the_seed_decides() -> None:
    prints = [make(variant=Affine(180.0), train_size=40, seed=seed).fingerprint() for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]


def test_quadrant_classes_and_resolution() -> None:
    dataset = make(variant=Quadrants("digit_and_quadrant"), resolution=16)
    assert dataset.n_classes == dataset.n_outputs == 40
    assert dataset.input_shape == (1, 16, 16)
    assert int(dataset.train.targets.max()) > 29


def test_balance_is_over_the_new_classes() -> None:
    dataset = make(variant=Quadrants("digit_and_quadrant"), train_size=40, class_balanced=True)
    assert torch.bincount(dataset.train.targets).tolist() == [1] * 40


def test_a_published_validation_set_is_used() -> None:
    dataset = make(source=Toy(with_validation=True))
    assert dataset.validation is not None
    assert len(dataset.validation) == 30
    assert len(dataset.train) == 200
    assert make(source=Toy(with_validation=True), validation_size=0).validation is None
    chosen = make(source=Toy(with_validation=True), validation_size=7).validation
    assert chosen is not None
    assert rows(chosen) <= rows(dataset.validation)


def test_standardise_uses_the_training_split() -> None:
    dataset = make(train_size=50)
    values = dataset.normalise(dataset.train.inputs)
    assert float(values.mean()) == pytest.approx(0, abs=1e-5)
    assert float(values.std(unbiased=False)) == pytest.approx(1, abs=1e-5)


def test_none_only_scales() -> None:
    dataset = make(normalisation="none")
    torch.testing.assert_close(dataset.normalise(dataset.train.inputs), dataset.train.inputs / 255)


def test_fixed_constants() -> None:
    dataset = make(normalisation="fixed", mean=[0.13], std=[0.3])
    assert (dataset.mean, dataset.std) == ((0.13,), (0.3,))


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"normalisation": "fixed"}, r"data\.mean"),
        ({"normalisation": "none", "mean": [0.0], "std": [1.0]}, r"data\.normalisation"),
        ({"normalisation": "fixed", "mean": [0.0]}, r"data\.std"),
        ({"normalisation": "whiten"}, r"data\.normalisation"),
        ({"normalisation": "fixed", "mean": [0.0, 0.0], "std": [1.0, 1.0]}, r"data\.mean"),
        ({"resolution": 0}, r"data\.resolution"),
        ({"train_size": 201}, r"data\.train_size"),
        ({"test_size": 0}, r"data\.test_size"),
        ({"validation_size": 500}, r"data\.validation_size"),
    ],
)
def test_bad_values_name_the_key(arguments: dict[str, Any], key: str) -> None:
    with pytest.raises(DataError, match=key):
        make(**arguments)
