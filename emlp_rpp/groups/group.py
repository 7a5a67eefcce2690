"""A matrix group as what generates it: M matrices h_i and D matrices A_j of its Lie algebra, every element being

    g = exp(sum_j a_j A_j) h_k1 h_k2 ...      (thesis, Eq. A.10)

Layout: ``discrete`` (M, d, d), ``algebra`` (D, d, d), float64 or, for unitary groups, complex128. A new group is a few
lines:

    >>> quarter_turns = Group("quarter turns", discrete=[[[0, -1], [1, 0]]])
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

from emlp_rpp.groups.permutations import PermutationGroup, as_signed_permutation
from emlp_rpp.groups.weights import Weights
from symlab.errors import ConfigError

Array = NDArray[Any]


@dataclass(frozen=True)
class Element:
    """One element as a word: exp(sum_j a_j A_j) for each vector of coefficients, h_i^(+-1) for each (i, power).

    A word can be read in every representation, since a representation is known on the generators.
    """

    word: tuple[tuple[float, ...] | tuple[int, int], ...]

    def matrix(self, discrete: Array, algebra: Array) -> Array:
        """The element where the generators are these matrices."""
        size = (discrete if len(discrete) else algebra).shape[-1]
        product: Array = np.eye(size)
        for letter in self.word:
            if isinstance(letter[0], int):
                index, power = letter[0], letter[1]
                factor = discrete[index] if power > 0 else np.linalg.inv(discrete[index])
            else:
                factor = expm(np.tensordot(np.array(letter), algebra, 1))
            product = product @ factor
        return product


class Group:
    """Generators with a name. Groups are equal when their generators are, whatever they are called."""

    def __init__(
        self,
        name: str,
        *,
        discrete: ArrayLike | Sequence[Array] = (),
        algebra: ArrayLike | Sequence[Array] = (),
        dimension: int | None = None,
        weights: Weights | None = None,
    ):
        self.name, self.weights = name, weights
        given = [np.asarray(part) for part in (discrete, algebra)]
        sizes = {part.shape[-1] for part in given if part.size}
        if dimension is not None:
            sizes.add(dimension)
        if len(sizes) != 1 or any(part.size and (part.ndim != 3 or part.shape[1] != part.shape[2]) for part in given):
            raise ConfigError(f"the generators of {name} do not fit: lists of square matrices of one size are needed")
        self.dimension = sizes.pop()
        kind = np.complex128 if any(np.iscomplexobj(part) for part in given) else np.float64
        shape = (-1, self.dimension, self.dimension)
        self.discrete, self.algebra = (np.ascontiguousarray(part.reshape(shape), dtype=kind) for part in given)
        for part in (self.discrete, self.algebra):
            part.setflags(write=False)

    @property
    def is_complex(self) -> bool:
        return np.iscomplexobj(self.discrete)

    @cached_property
    def digest(self) -> str:
        """Names the content: the same in every process."""
        content = hashlib.sha256(f"{self.dimension} {self.discrete.dtype} {len(self.discrete)}".encode())
        content.update(self.discrete.tobytes() + self.algebra.tobytes())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and other.digest == self.digest

    def __hash__(self) -> int:
        return int(self.digest[:15], 16)

    def __repr__(self) -> str:
        return self.name

    def __mul__(self, other: "Group") -> "Group":
        from emlp_rpp.groups.products import DirectProduct

        return DirectProduct(self, other)

    def random_element(self, generator: np.random.Generator, spread: float = 0.5) -> Element:
        """Two exponentials with normal coefficients and random discrete letters between them; ``spread`` keeps elements of
        groups without bound close enough to the identity for sharp tests."""
        word: list[tuple[Any, ...]] = []
        for _ in range(2):
            if len(self.algebra):
                word.append(tuple(spread * generator.standard_normal(len(self.algebra))))
            for _ in range(int(generator.integers(0, 4)) if len(self.discrete) else 0):
                word.append((int(generator.integers(len(self.discrete))), int(generator.choice([-1, 1]))))
        return Element(tuple(word))

    def matrix(self, element: Element) -> Array:
        return element.matrix(self.discrete, self.algebra) if element.word else np.eye(self.dimension)

    @cached_property
    def permutations(self) -> PermutationGroup | None:
        """The group as permutations of its coordinates, None where a generator is none."""
        if len(self.algebra):
            return None
        signed = [as_signed_permutation(matrix) for matrix in self.discrete]
        if any(found is None or (found[1] < 0).any() for found in signed):
            return None
        return PermutationGroup([found[0].tolist() for found in signed if found], self.dimension)

    def order(self) -> int:
        """The number of elements of a group of permutations, by Schreier and Sims."""
        if self.permutations is None:
            raise ConfigError(f"the order of {self.name} is not known: it is no group of permutations")
        return self.permutations.order()
