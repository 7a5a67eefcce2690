"""Which entries of all invariant tensors agree: what the pictures of bases show (thesis, figures 2.2 and 2.3).

A random invariant tensor v = Q Q^T z, z ~ N(0, 1), has equal entries exactly where every invariant tensor has (with
probability 1). Entries of one value have one colour, 0, 1, ...; -1 is where every invariant tensor is zero. For permutations
the colours are the orbits, as many as the rank, and each is one element of the basis; for other groups elements overlap, and
this chooses their colours at random, as the thesis does.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from emlp_rpp.groups import Group
from emlp_rpp.representations import T
from emlp_rpp.solver import Basis, invariant_basis
from symlab.computed import Computed

_RESOLUTION = 1e-9


def colour_entries(basis: Basis, seed: int = 0) -> NDArray[np.int64]:
    """(size,): colours in the order in which they first occur."""
    noise = torch.randn(basis.size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    values = basis.project(noise).numpy()
    colours = np.full(basis.size, -1)
    known: dict[int, int] = {}
    for at, value in enumerate(np.rint(values / _RESOLUTION).astype(np.int64).tolist()):
        if abs(value) > 1:
            # rounding may put equal values on two sides of a boundary
            near = next((key for key in (value, value - 1, value + 1) if key in known), value)
            colours[at] = known.setdefault(near, len(known))
    return colours


class BasisColours:
    """The invariant tensors T_(p, q) of a group; the array ``colours`` has the shape of a matrix, the first p axes of the
    tensor (rounded to a half of all) downwards."""

    def __init__(self, group: Group, p: int, q: int = 0):
        self.group, self.p, self.q = group, p, q

    def compute(self) -> Computed:
        basis = invariant_basis(T(self.p, self.q)(self.group))
        colours = colour_entries(basis)
        rows = self.group.dimension ** ((self.p + self.q) // 2)
        metrics = {
            "rank": float(basis.rank),
            "colours": float(colours.max() + 1),
            "zeros": float((colours < 0).sum()),
            "dimension": float(basis.size),
            "residual": basis.certificate.residual,
        }
        return Computed(metrics, arrays={"colours": colours.reshape(rows, -1)})
