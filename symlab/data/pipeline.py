"""From an image source to a data set: variant, subset, resize, normalisation. The ``_target_`` of every image data config.

Random choices depend on the seed and the image's index in the published data only: the training, validation and test parts
have streams of their own, and a subset of any size sees the same transformation per image.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor

from symlab.data.dataset import Dataset, RawImages, Split
from symlab.data.images import channel_statistics, resize
from symlab.data.subsets import choose, split_train, stream
from symlab.data.variants import Variant
from symlab.errors import DataError


class ImageSource(Protocol):
    """Constructing one does no I/O."""

    def load(self, root: str) -> RawImages: ...


def build(
    source: ImageSource,
    root: str,
    variant: Variant | None = None,
    resolution: int | None = None,
    train_size: int | None = None,
    validation_size: int | None = None,
    test_size: int | None = None,
    class_balanced: bool = False,
    normalisation: Literal["standardise", "none", "fixed"] = "standardise",
    mean: list[float] | None = None,
    std: list[float] | None = None,
    seed: int = 0,
) -> Dataset:
    """Loads the source from ``root`` (a list of directories, see `symlab.data.roots`) and prepares its splits.

    Sizes: None takes all. ``validation_size`` images are cut off the training set; None means the validation set the data
    is published with, or none if there is none. ``class_balanced`` holds for all chosen subsets. ``normalisation``:
    ``standardise`` with the channel statistics of the training split, ``none`` (values 0..1), or ``fixed`` with the
    published ``mean`` and ``std``.
    """
    if resolution is not None and resolution < 1:
        raise DataError(f"data.resolution is {resolution}: give a number of pixels or null")
    if normalisation not in ("standardise", "none", "fixed"):
        raise DataError(f"data.normalisation is {normalisation!r}: give 'standardise', 'none' or 'fixed'")
    raw = source.load(root)
    train_part = _Part(raw.train, variant, raw.n_classes, seed, "train")
    test_part = _Part(raw.test, variant, raw.n_classes, seed, "test")
    cut_off = validation_size if raw.validation is None and validation_size else 0
    train_indices, validation_indices = split_train(
        train_part.targets, train_size, cut_off, class_balanced, stream(seed, "subset/train")
    )
    train = train_part.take(train_indices, resolution)
    validation = train_part.take(validation_indices, resolution) if cut_off else None
    if raw.validation is not None and validation_size != 0:
        own = _Part(raw.validation, variant, raw.n_classes, seed, "validation")
        validation = own.subset(validation_size, class_balanced, resolution)
    test = test_part.subset(test_size, class_balanced, resolution)
    means, stds = _constants(train.inputs, normalisation, mean, std)
    return Dataset(raw.name, train, validation, test, train_part.n_classes, means, stds, raw.notes)


class _Part:
    """One published split with the variant's parameters drawn for all of it, and the images transformed when taken."""

    def __init__(self, split: Split, variant: Variant | None, n_classes: int, seed: int, name: str) -> None:
        self.images, self.variant, self.seed, self.name = split.inputs, variant, seed, name
        if variant is None:
            self.targets, self.n_classes = split.targets, n_classes
        else:
            self.parameters = variant.draw(len(split), stream(seed, f"variant/{name}"))
            self.targets, self.n_classes = variant.relabel(split.targets, self.parameters, n_classes)

    def subset(self, size: int | None, balanced: bool, resolution: int | None) -> Split:
        """``size`` images; the whole split stays whole, balanced or not, when no size is given."""
        order = torch.randperm(len(self.targets), generator=stream(self.seed, f"subset/{self.name}"))
        key = f"data.{self.name}_size"
        chosen = order if size is None else choose(order, self.targets, size, balanced, key)
        return self.take(chosen.sort().values, resolution)

    def take(self, indices: Tensor, resolution: int | None) -> Split:
        images = self.images[indices]
        if self.variant is not None:
            images = self.variant.transform(images, self.parameters[indices])
        return Split(resize(images, resolution), self.targets[indices])


def _constants(
    images: Tensor, normalisation: str, mean: Sequence[float] | None, std: Sequence[float] | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if (mean is None) != (std is None) or (normalisation == "fixed") != (mean is not None):
        raise DataError("data.mean and data.std are for data.normalisation=fixed, which needs both: set or drop all three")
    if mean is not None and std is not None:
        return tuple(map(float, mean)), tuple(map(float, std))
    if normalisation == "standardise":
        return channel_statistics(images)
    return (0.0,) * images.shape[1], (1.0,) * images.shape[1]
