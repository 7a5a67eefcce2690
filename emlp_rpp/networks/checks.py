"""What a layer asks of its representations and inputs before it computes anything; every message says what to do."""

import numpy as np
from torch import Tensor

from emlp_rpp.errors import InputSizeError, ProblemTooLargeError
from emlp_rpp.representations import Expression, Representation
from emlp_rpp.solver import Options
from symlab.errors import ConfigError

_BYTES_PER_NUMBER = 8


def check_representation(representation: object, role: str) -> Representation:
    """A real representation that is bound to a group."""
    if isinstance(representation, Expression):
        raise ConfigError(
            f"{role} = {representation} is not bound to a group: write ({representation})(group), for example with O(3)"
        )
    if not isinstance(representation, Representation):
        kind = type(representation).__name__
        raise ConfigError(f"{role} is a {kind}: a representation is needed, for example (5 * V)(O(3))")
    if not representation.size:
        raise ConfigError(f"{role} is a representation without coordinates: at least one tensor is needed")
    if any(
        np.iscomplexobj(atom.discrete) or np.iscomplexobj(atom.algebra)
        for _, term in representation.summands
        for atom in term
    ):
        raise ConfigError(
            f"{role} = {representation} of {representation.group} is complex and networks are real: write the group with "
            "real matrices [[Re, -Im], [Im, Re]]"
        )
    return representation


def check_matrix_size(rows: int, columns: int, options: Options, what: str) -> None:
    """A dense matrix within the limit of ``options``."""
    needed = _BYTES_PER_NUMBER * rows * columns
    if needed > options.limit_bytes:
        raise ProblemTooLargeError(
            f"{what} has {rows:,} x {columns:,} numbers and needs {needed / 2**30:.1f} GiB, more than the limit of "
            f"{options.limit_bytes / 2**30:.1f} GiB: take fewer channels or tensors of lower rank"
        )


def check_input(x: Tensor, representation: Representation) -> None:
    """(..., size)."""
    if x.ndim == 0 or x.shape[-1] != representation.size:
        raise InputSizeError(
            f"an input of shape {tuple(x.shape)} does not fit: {representation} of {representation.group} has "
            f"{representation.size} coordinates, so (..., {representation.size}) is needed"
        )
