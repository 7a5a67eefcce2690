"""Uniform allocation of channels to tensor ranks (thesis, section 2.6 and A.1.9), the same in every process.

With d = dim V: take the largest r with (r + 1) d^r <= channels that are left, add d^(r - i) tensors of each rank i <= r,
which are (r + 1) d^r channels, and repeat. Every rank then has about the same number of channels:

    SO(3), 256 channels -> 70 T(0) + 23 T(1) + 7 T(2) + 2 T(3)

Where V* differs from V, the N tensors of rank r are split into T(p, r - p) with shares N binomial(r, p) / 2^r, rounded by
largest remainder; of equal remainders the larger p comes first.
"""

from math import comb

from emlp_rpp.groups import Group
from emlp_rpp.networks.checks import check_representation
from emlp_rpp.representations import Representation
from symlab.errors import ConfigError


def uniform_allocation(channels: int, group: Group) -> Representation:
    """A representation of size ``channels`` in canonical order."""
    if channels < 1:
        raise ConfigError(f"{channels} channels do not fit: at least 1 is needed")
    vector = check_representation(Representation.vector(group), "V")
    dual = vector.dual
    total = Representation(group, [])
    for rank, copies in enumerate(copies_per_rank(channels, vector.size)):
        for p, share in _split(copies, rank, vector == dual):
            total = total + share * (vector**p * dual ** (rank - p))
    return total.canonical


def copies_per_rank(channels: int, dimension: int) -> list[int]:
    """The number of tensors of rank 0, 1, ...; for one dimension only ranks 0 and 1, since the others repeat them."""
    copies: list[int] = []
    left = channels
    while left:
        rank = _largest_rank(left, dimension)
        copies += [0] * (rank + 1 - len(copies))
        for i in range(rank + 1):
            copies[i] += dimension ** (rank - i)
        left -= (rank + 1) * dimension**rank
    return copies


def _largest_rank(channels: int, dimension: int) -> int:
    if dimension == 1:
        return min(1, channels - 1)
    rank = 0
    while (rank + 2) * dimension ** (rank + 1) <= channels:
        rank += 1
    return rank


def _split(copies: int, rank: int, self_dual: bool) -> list[tuple[int, int]]:
    """(p, number of T(p, rank - p))."""
    if self_dual:
        return [(rank, copies)]
    shares = {p: divmod(copies * comb(rank, p), 2**rank) for p in range(rank, -1, -1)}
    counts = {p: whole for p, (whole, _) in shares.items()}
    missing = copies - sum(counts.values())
    for p in sorted(shares, key=lambda p: (-shares[p][1], -p))[:missing]:
        counts[p] += 1
    return [(p, count) for p, count in counts.items() if count]
