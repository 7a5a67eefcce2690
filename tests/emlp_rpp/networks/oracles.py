"""Slow and obvious versions of the layers, and how far a function is from equivariant."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from emlp_rpp.groups import SU, Group
from emlp_rpp.representations import Representation
from emlp_rpp.representations.representation import canonical_order


def real_form(group: Group) -> Group:
    """A group of complex matrices as real ones, [[Re, -Im], [Im, Re]]."""
    algebra = [np.block([[a.real, -a.imag], [a.imag, a.real]]) for a in group.algebra]
    return Group(f"{group.name} real", algebra=algebra)


REAL_SU2 = real_form(SU(2))


def act(representation: Representation, x: Tensor, seed: int) -> Tensor:
    """rho(g) x with a random g, by the dense matrix."""
    element = representation.group.random_element(np.random.default_rng(seed), spread=0.4)
    return x @ torch.tensor(representation.matrix(element), dtype=x.dtype).mT


def equivariance_error(
    function: Callable[[Tensor], Tensor], rep_in: Representation, rep_out: Representation, dtype: torch.dtype = torch.float64
) -> float:
    """The largest |f(rho(g) x) - rho(g) f(x)| over the spread of f(x) around its mean, for three random g."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(40, rep_in.size, generator=generator, dtype=torch.float64).to(dtype)
    with torch.no_grad():
        y = function(x)
        scale = float((y - y.mean(0)).abs().max())
        assert scale > 0.0, "the function is constant"
        errors = [(function(act(rep_in, x, seed)) - act(rep_out, y, seed)).abs().max() for seed in range(3)]
    return float(max(errors)) / scale


def tensors_by_type(representation: Representation) -> dict[tuple, list[Tensor]]:
    """For each canonical type the coordinates of its tensors, each in canonical order of factors."""
    found: dict[tuple, list[Tensor]] = {}
    start = 0
    for copies, term in representation.summands:
        sizes, order = [atom.size for atom in term], canonical_order(term)
        for _ in range(copies):
            size = int(np.prod(sizes, dtype=int))
            within = (
                torch.arange(start, start + size).reshape(sizes).permute(order).reshape(-1)
                if term
                else torch.tensor([start])
            )
            found.setdefault(tuple(term[i] for i in order), []).append(within)
            start += size
    return found
