"""Which images of a split are used: deterministic in the seed, nested in the size, balanced over classes on request."""

import hashlib

import torch
from torch import Tensor

from symlab.errors import DataError


def stream(seed: int, purpose: str) -> torch.Generator:
    """An independent generator for each purpose, so that one choice does not shift the random numbers of another."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def choose(candidates: Tensor, targets: Tensor, size: int | None, balanced: bool, key: str) -> Tensor:
    """The first ``size`` of the candidate indices (all if None); balanced: as many of each class, in their given order.

    ``targets (N,)`` are those of the whole split, ``candidates (M,)`` indices into it, in random order. If the classes do
    not divide the size, the first classes get one more. Classes without candidates are left out. Errors name ``key``.
    """
    if size is None and not balanced:
        return candidates
    counts = torch.bincount(targets[candidates])
    classes = counts.nonzero().flatten().tolist()
    if size is None:
        size = len(classes) * int(counts[classes].min())
    if not 0 < size <= len(candidates):
        raise DataError(f"{key}={size} but there are {len(candidates)} examples to choose from: give 1 to {len(candidates)}")
    if not balanced:
        return candidates[:size]
    return _choose_balanced(candidates, targets, size, classes, key)


def _choose_balanced(candidates: Tensor, targets: Tensor, size: int, classes: list[int], key: str) -> Tensor:
    each, left = divmod(size, len(classes))
    chosen = []
    for position, index in enumerate(classes):
        count = each + (position < left)
        members = candidates[targets[candidates] == index]
        if len(members) < count:
            raise DataError(
                f"{key}={size} with balanced classes needs {count} of class {index}, which has {len(members)}: "
                f"lower {key} or set data.class_balanced=false"
            )
        chosen.append(members[:count])
    return torch.cat(chosen)


def split_train(
    targets: Tensor,
    train_size: int | None,
    validation_size: int,
    balanced: bool,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Sorted indices of the training and the validation part.

    The validation part is the same whatever the training size, and smaller training sets are contained in larger ones.
    """
    order = torch.randperm(len(targets), generator=generator)
    if not 0 <= validation_size < len(targets):
        raise DataError(f"data.validation_size={validation_size} but the training set has {len(targets)} examples: lower it")
    validation = order[:0]
    if validation_size:
        validation = choose(order, targets, validation_size, balanced, "data.validation_size")
    free = torch.ones(len(targets), dtype=torch.bool)
    free[validation] = False
    train = choose(order[free[order]], targets, train_size, balanced, "data.train_size")
    return train.sort().values, validation.sort().values
