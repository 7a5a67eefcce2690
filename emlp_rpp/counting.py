"""Dimensions of invariant tensors by integers alone, without any basis: the solver's independent witnesses.

orbits               Burnside: the mean of fix(g)^k over a group of permutations; Stirling sums for S_n
tableaux             f^lambda, standard tableaux of a partition (hook lengths), and Schur-Weyl duality:
                     O(n)   T_k       sum of f^lambda, lambda |- k with even parts, at most n of them
                     SO(n)  T_k       and those with n odd parts
                     Sp(n)  T_k       sum of f^lambda, every part occurs an even number of times, at most 2n parts
                     SU(n)  T_(p,q)   sum over mu |- q, at most n parts, of f^mu f^(mu + s), s = (p - q) / n in every part
weights              the constant term of  char(T) prod_(positive roots) (1 - e^-alpha)   (Weyl's integral formula)
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from math import comb, factorial, prod

Partition = tuple[int, ...]
Weight = tuple[int, ...]


def stirling(k: int, j: int) -> int:
    """Partitions of k things into j parts."""
    return sum((-1) ** i * comb(j, i) * (j - i) ** k for i in range(j + 1)) // factorial(j)


def bell(k: int) -> int:
    """Partitions of k things."""
    return sum(stirling(k, j) for j in range(k + 1))


def symmetric_count(n: int, k: int) -> int:
    """Orbits of S_n on k-tuples: which indices coincide, with at most n different ones."""
    return sum(stirling(k, j) for j in range(min(n, k) + 1))


def cyclic_count(n: int, k: int) -> int:
    """Orbits of Z_n on k-tuples: only the identity fixes an index, so Burnside's sum is n^k / n."""
    return n**k // n if k else 1


def _oriented_permutations(cubies: int, orientations: int) -> dict[int, Counter[int]]:
    """For sign +1 and -1 of the permutation: how many pieces stay with their orientation -> number of elements.

    Elements permute the cubies and turn each by one of ``orientations`` such that all turns cancel. Every permutation is a
    set of fixed cubies and a derangement of the others; each fixed cubie stays untouched or is turned.
    """
    counts: dict[int, Counter[int]] = {1: Counter(), -1: Counter()}
    for fixed in range(cubies + 1):
        moved = cubies - fixed
        total, signed = _derangements(moved)
        for sign in (1, -1):
            permutations = comb(cubies, fixed) * (total + sign * signed) // 2
            for untouched in range(fixed + 1):
                turned = fixed - untouched
                if moved:  # the moved cubies absorb the rest of the turns
                    turns = (orientations - 1) ** turned * orientations ** (moved - 1)
                else:  # cyclic turns != 0 whose sum is 0
                    turns = ((orientations - 1) ** turned + (orientations - 1) * (-1) ** turned) // orientations
                counts[sign][untouched] += permutations * comb(fixed, untouched) * turns
    return counts


def _derangements(n: int) -> tuple[int, int]:
    """(even + odd, even - odd) permutations of n things without a fixed one."""
    total = sum((-1) ** i * comb(n, i) * factorial(n - i) for i in range(n + 1))
    signed = (-1) ** (n - 1) * (n - 1) if n else 1
    return total, signed


def rubiks_cube_count(k: int) -> int:
    """Orbits of the cube group on k-tuples of the 48 facets, by Burnside.

    Its elements are pairs of oriented permutations of 8 corners (3 ways) and 12 edges (2 ways), each with cancelling turns
    and both of one sign. An untouched corner fixes 3 facets, an untouched edge 2.
    """
    corners, edges = _oriented_permutations(8, 3), _oriented_permutations(12, 2)
    order = total = 0
    for sign in (1, -1):
        for still_corners, many in corners[sign].items():
            for still_edges, more in edges[sign].items():
                order += many * more
                total += many * more * (3 * still_corners + 2 * still_edges) ** k
    return total // order


def partitions(total: int, largest: int | None = None) -> Iterator[Partition]:
    """Parts in descending order."""
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@cache
def tableaux(shape: Partition) -> int:
    """Standard tableaux, by the hook length formula."""
    columns = [sum(1 for row in shape if row > j) for j in range(shape[0])] if shape else []
    hooks = prod(shape[i] - j + columns[j] - i - 1 for i in range(len(shape)) for j in range(shape[i]))
    return factorial(sum(shape)) // hooks


def orthogonal_count(n: int, k: int, special: bool = False) -> int:
    """O(n) or SO(n), and every O(p, q) or SO+(p, q) with p + q = n."""
    even = sum(tableaux(shape) for shape in partitions(k) if len(shape) <= n and all(part % 2 == 0 for part in shape))
    if not special:
        return even
    return even + sum(tableaux(shape) for shape in partitions(k) if len(shape) == n and all(part % 2 for part in shape))


def symplectic_count(n: int, k: int) -> int:
    """Sp(n), matrices of size 2n."""
    shapes = [shape for shape in partitions(k) if len(shape) <= 2 * n]
    return sum(tableaux(shape) for shape in shapes if all(count % 2 == 0 for count in Counter(shape).values()))


def unitary_count(n: int, p: int, q: int, special: bool = True) -> int:
    """SU(n) and SL(n); with ``special`` false U(n) and GL(n)."""
    if p < q:
        p, q = q, p
    if (p - q) % n or (p != q and not special):
        return 0
    total = 0
    for shape in partitions(q):
        if len(shape) <= n:
            wide = tuple(part + (p - q) // n for part in (*shape, *[0] * (n - len(shape))))
            total += tableaux(shape) * tableaux(tuple(part for part in wide if part))
    return total


def weight_count(weights: Sequence[Sequence[Weight]], positive_roots: Sequence[Weight]) -> int:
    """Invariants of a product of spaces, each given by its weights, under a connected reductive group."""
    rank = len(weights[0][0]) if weights else 0
    terms: Counter[Weight] = Counter({(0,) * rank: 1})
    for factor in weights:
        grown: Counter[Weight] = Counter()
        for weight, count in terms.items():
            for step in factor:
                grown[tuple(a + b for a, b in zip(weight, step))] += count
        terms = grown
    denominator: Counter[Weight] = Counter({(0,) * rank: 1})
    for root in positive_roots:
        shifted = Counter({tuple(a - b for a, b in zip(weight, root)): -count for weight, count in denominator.items()})
        denominator = Counter(dict(denominator))
        denominator.update(shifted)
    return sum(count * terms[tuple(-a for a in weight)] for weight, count in denominator.items())


def _unit(rank: int, *entries: tuple[int, int]) -> Weight:
    values = [0] * rank
    for index, value in entries:
        values[index] += value
    return tuple(values)


def rotation_data(n: int) -> tuple[list[Weight], list[Weight]]:
    """Weights of V and positive roots of SO(n)."""
    rank = n // 2
    weights = [_unit(rank, (i, sign)) for i in range(rank) for sign in (1, -1)] + [_unit(rank)] * (n % 2)
    roots = [_unit(rank, (i, 1), (j, sign)) for i, j in combinations(range(rank), 2) for sign in (1, -1)]
    return weights, roots + [_unit(rank, (i, 1)) for i in range(rank) if n % 2]


def symplectic_data(n: int) -> tuple[list[Weight], list[Weight]]:
    """Weights of V and positive roots of Sp(n)."""
    weights = [_unit(n, (i, sign)) for i in range(n) for sign in (1, -1)]
    roots = [_unit(n, (i, 1), (j, sign)) for i, j in combinations(range(n), 2) for sign in (1, -1)]
    return weights, roots + [_unit(n, (i, 2)) for i in range(n)]


def special_linear_data(n: int) -> tuple[list[Weight], list[Weight]]:
    """Weights of V and positive roots of SU(n) and SL(n), as differences to the last coordinate of the torus."""
    weights = [_unit(n - 1, (i, 1)) for i in range(n - 1)] + [(-1,) * (n - 1)]
    roots = [tuple(a - b for a, b in zip(weights[i], weights[j])) for i, j in combinations(range(n), 2)]
    return weights, roots
