"""What a data set is: tensors of a training, a validation and a test split, and the constants that normalise them.

Tensor layout: images are ``uint8 (N, C, H, W)`` and stay so in memory, tables are ``float32 (N, D)``; targets are
``int64 (N,)`` class indices or ``float32 (N,)`` or ``(N, D)`` values. ``Dataset.normalise`` turns a batch into the network's
input on whatever device the batch is.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from symlab.errors import DataError


@dataclass(frozen=True)
class Split:
    """``inputs (N, ...)`` and ``targets (N,)`` or ``(N, D)`` of one split."""

    inputs: Tensor
    targets: Tensor

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.targets):
            raise DataError(f"a split has {len(self.inputs)} inputs but {len(self.targets)} targets: fix the data source")

    def __len__(self) -> int:
        return len(self.targets)

    def to(self, device: torch.device | str) -> "Split":
        return Split(self.inputs.to(device), self.targets.to(device))


@dataclass(frozen=True)
class RawImages:
    """What an image source returns, before any variant: whole splits, and ``origin``, the place the files came from.

    ``validation`` is set where the data set is published with its own. ``notes`` are sentences for every table that used it.
    """

    name: str
    train: Split
    test: Split
    n_classes: int
    origin: str
    validation: Split | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """A data set ready for training.

    ``n_classes`` is 0 for regression. ``mean`` and ``std`` have one entry per channel (images, on the scale 0..1) or per
    column (tables). Regression targets are standardised: value = target * target_std + target_mean. ``notes`` are sentences
    to be shown at every table that used the data.
    """

    name: str
    train: Split
    validation: Split | None
    test: Split
    n_classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    notes: tuple[str, ...] = ()
    target_mean: float = 0.0
    target_std: float = 1.0

    def __post_init__(self) -> None:
        size = self.input_shape[0]
        if len(self.mean) != size or len(self.std) != size:
            raise DataError(
                f"{self.name}: normalisation needs {size} means and stds, got {len(self.mean)} and {len(self.std)}: "
                "set data.mean and data.std to one value per channel"
            )
        if not all(value > 0 for value in self.std):
            raise DataError(f"{self.name}: every std must be positive, got {self.std}: set data.std to positive values")

    @property
    def input_shape(self) -> tuple[int, ...]:
        """``(C, H, W)`` of an image, ``(D,)`` of a row."""
        return tuple(self.train.inputs.shape[1:])

    @property
    def n_outputs(self) -> int:
        """Size of a network's output: one logit a class, or the values of a target."""
        return self.n_classes or self.train.targets[:1].numel()

    @property
    def splits(self) -> dict[str, Split]:
        found = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: split for name, split in found.items() if split is not None}

    def normalise(self, inputs: Tensor) -> Tensor:
        """``(B, ...)`` as stored -> float ``(B, ...)`` on the same device: uint8 / 255, then ``(x - mean) / std``."""
        values = inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs
        shape = (1, -1) + (1,) * (values.ndim - 2)
        mean = torch.tensor(self.mean, dtype=values.dtype, device=values.device).view(shape)
        std = torch.tensor(self.std, dtype=values.dtype, device=values.device).view(shape)
        return (values - mean) / std

    def to(self, device: torch.device | str) -> "Dataset":
        validation = None if self.validation is None else self.validation.to(device)
        return replace(self, train=self.train.to(device), validation=validation, test=self.test.to(device))

    def fingerprint(self) -> str:
        """First 16 hex digits of a SHA-256 over the name, the constants, and every tensor's name, dtype, shape and bytes."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        constants = (self.name, self.n_classes, self.mean, self.std, self.target_mean, self.target_std)
        digest = hashlib.sha256(repr(constants).encode())
        for name, split in self.splits.items():
            for kind, tensor in (("inputs", split.inputs), ("targets", split.targets)):
                digest.update(f"{name}/{kind} {tensor.dtype} {tuple(tensor.shape)}".encode())
                digest.update(tensor.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()[:16]
