"""Channels of feature maps on a group, and what becomes of them when the group of a layer is relaxed.

All features have the channels of one ``whole`` group W, whatever the groups of the layers: (B, c |W|, H, H), channel by
channel of W, its elements in order. For a layer of a group G <= W with representatives R of the cosets G \\ W these are c
|R| independent channels on G (Eq. 3):

    f~_(c, s)(g) = f_c(g s),    g of G, s of R.

So nothing has to be reordered when a layer is relaxed to a subgroup, or between layers of different groups.
"""

from functools import cache

import torch
from torch import Tensor

from symlab.errors import ConfigError
from symlab.groups import Element, Group, act, factor, inverse, multiply, representatives


@cache
def coset_of(group: Group, whole: Group) -> tuple[int, ...]:
    """For each element of W, in order, the position in R of its coset's representative."""
    chosen = representatives(group, whole)
    return tuple(chosen.index(factor(element, group, whole)[1]) for element in whole.elements)


@cache
def coset_order(group: Group, whole: Group) -> tuple[int, ...]:
    """Positions in W coset by coset: entry s |G| + g is the position of g s."""
    return tuple(
        whole.position(multiply(element, representative))
        for representative in representatives(group, whole)
        for element in group.elements
    )


@cache
def cosets_split(group: Group, subgroup: Group, whole: Group) -> tuple[int, ...]:
    """For each coset of the subgroup the coset of the group that it is a part of, as positions of representatives."""
    parts = coset_of(group, whole)
    return tuple(parts[whole.position(representative)] for representative in representatives(subgroup, whole))


def blocks(channels: int, whole: Group) -> int:
    """How often the elements of W fit into the channels."""
    if channels % len(whole):
        raise ConfigError(f"{channels} channels are no multiple of {len(whole)}, the order of {whole}: change the channels")
    return channels // len(whole)


def spread(values: Tensor, positions: tuple[int, ...], size: int) -> Tensor:
    """(c size, ...) -> (c len(positions), ...): block by block of ``size`` rows, the rows at ``positions``."""
    index = torch.tensor(positions, device=values.device)
    return values.unflatten(0, (-1, size)).index_select(1, index).flatten(0, 1)


def act_on_features(element: Element, features: Tensor, whole: Group) -> Tensor:
    """[a f]_c(h, y) = f_c(a^-1 h, a^-1 y) on (B, c |W|, H, H): what an equivariant map must commute with."""
    sources = [whole.position(multiply(inverse(element), other)) for other in whole.elements]
    copies = features.unflatten(1, (-1, len(whole)))[:, :, sources]
    return act(element, copies.flatten(1, 2))
