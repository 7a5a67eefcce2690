"""How equivariant weights and functions are.

share          |Q Q^T W|^2 / |W|^2 of a layer's dense weights W = A + B                   1: all inside the subspace
EquivErr(f, x) = |rho_2(g) f(x) - f(rho_1(g) x)| / (|rho_2(g) f(x)| + |f(rho_1(g) x)|)    (thesis, Eq. 3.3)
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from emlp_rpp.networks.augmentation import RandomElements
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.pathways.residual import ResidualPathway
from emlp_rpp.representations import Representation


def relative_error(first: Tensor, second: Tensor) -> Tensor:
    """|a - b| / (|a| + |b|) along the last axis, 0 where both vanish: (..., n) -> (...)."""
    sizes = first.norm(dim=-1) + second.norm(dim=-1)
    distance = (first - second).norm(dim=-1)
    return torch.where(sizes > 0, distance / torch.where(sizes > 0, sizes, 1.0), 0.0)


@torch.no_grad()
def equivariance_errors(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    rep_in: Representation,
    rep_out: Representation,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Eq. 3.3 of every row, each with a random element of its own: (N, rep_in.size) -> (N,)."""
    check_representation(rep_in, "rep_in")._with(check_representation(rep_out, "rep_out"))
    check_input(x, rep_in)
    elements = RandomElements.draw(rep_in.group, len(x), generator)
    return relative_error(elements.apply(rep_out, function(x)), function(elements.apply(rep_in, x)))


def equivariant_shares(module: nn.Module) -> dict[str, float]:
    """The share of each layer that has both paths, by its name."""
    return {
        name: part.equivariant_share()
        for name, part in module.named_modules()
        if isinstance(part, ResidualPathway) and part.equivariant is not None
    }
