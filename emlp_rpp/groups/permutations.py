"""Permutation groups: order and membership by the method of Schreier and Sims.

A permutation is a tuple p with p[i] the image of i; ``compose(p, q)`` applies q first. Level k of the chain holds generators
of the subgroup that fixes the base points b_0 .. b_(k-1), and for each point of b_k's orbit an element that takes b_k there:

    order = product of the lengths of the orbits

The chain is complete once every Schreier generator u_(g x)^-1 g u_x sifts to the identity.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Permutation = tuple[int, ...]


def compose(p: Permutation, q: Permutation) -> Permutation:
    return tuple([p[i] for i in q])


def invert(p: Permutation) -> Permutation:
    inverse = [0] * len(p)
    for i, image in enumerate(p):
        inverse[image] = i
    return tuple(inverse)


def permutation_matrix(permutation: Sequence[int]) -> NDArray[np.float64]:
    """P with P e_i = e_p(i)."""
    matrix = np.zeros((len(permutation), len(permutation)))
    matrix[list(permutation), range(len(permutation))] = 1.0
    return matrix


def as_signed_permutation(matrix: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """(images, signs) of a matrix with M e_i = sign_i e_images(i), exactly; None for any other matrix."""
    if not (np.isin(matrix, (0, 1, -1)).all() and (np.count_nonzero(matrix, axis=0) == 1).all()):
        return None
    images = np.argmax(matrix != 0, axis=0)
    if len(set(images.tolist())) != len(images):
        return None
    return images, np.real(matrix[images, range(len(images))]).astype(np.int64)


class _Level:
    """One base point: generators of its level and the transversal of its orbit."""

    def __init__(self, base: int, identity: Permutation):
        self.base = base
        self.generators: list[Permutation] = []
        self.transversal: dict[int, Permutation] = {base: identity}
        self.inverses: dict[int, Permutation] = {base: identity}
        self.checked: set[tuple[int, int]] = set()

    def extend(self, generator: Permutation) -> None:
        self.generators.append(generator)
        waiting = list(self.transversal)
        while waiting:
            point = waiting.pop()
            for each in self.generators:
                image = each[point]
                if image not in self.transversal:
                    self.transversal[image] = compose(each, self.transversal[point])
                    self.inverses[image] = invert(self.transversal[image])
                    waiting.append(image)


class PermutationGroup:
    def __init__(self, generators: Iterable[Sequence[int]], degree: int):
        self.degree = degree
        self.identity: Permutation = tuple(range(degree))
        self.generators = [tuple(generator) for generator in generators]

    @cached_property
    def _chain(self) -> list[_Level]:
        chain: list[_Level] = []
        for generator in self.generators:
            self._insert(chain, 0, generator)
        return chain

    def _sift(self, chain: list[_Level], start: int, element: Permutation) -> tuple[int, Permutation]:
        """Divide out transversals from level ``start`` on; where it stops and what remains."""
        for depth in range(start, len(chain)):
            level = chain[depth]
            image = element[level.base]
            if image not in level.transversal:
                return depth, element
            element = compose(level.inverses[image], element)
        return len(chain), element

    def _insert(self, chain: list[_Level], start: int, element: Permutation) -> None:
        """Make the chain from level ``start`` on contain ``element``, which fixes the base points before."""
        depth, remainder = self._sift(chain, start, element)
        if remainder == self.identity:
            return
        if depth == len(chain):
            moved = next(i for i, image in enumerate(remainder) if i != image)
            chain.append(_Level(moved, self.identity))
        for at in range(start, depth + 1):  # the remainder fixes every base point before ``depth``
            chain[at].extend(remainder)
        for at in range(depth, start - 1, -1):
            self._close(chain, at)

    def _close(self, chain: list[_Level], at: int) -> None:
        level = chain[at]
        while True:
            pairs = [
                (point, index)
                for point in level.transversal
                for index in range(len(level.generators))
                if (point, index) not in level.checked
            ]
            if not pairs:
                return
            for point, index in pairs:
                level.checked.add((point, index))
                moved = compose(level.generators[index], level.transversal[point])
                self._insert(chain, at + 1, compose(level.inverses[moved[level.base]], moved))

    def order(self) -> int:
        return prod(len(level.transversal) for level in self._chain)

    def __contains__(self, element: Sequence[int]) -> bool:
        return self._sift(self._chain, 0, tuple(element))[1] == self.identity
