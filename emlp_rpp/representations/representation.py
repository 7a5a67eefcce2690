"""Sums of tensor products of atoms, with multiplicities: U = sum_a m_a (V^(x)p_a (x) V*^(x)q_a)   (thesis, section 2.4).

Coordinates: the summands one after the other in the order written, the copies of a summand one after the other, inside a
tensor product the last factor fastest. ``A * B`` distributes over sums: its summands are those of A times those of B, A's
outermost."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.linalg import block_diag
from torch import Tensor

from emlp_rpp.errors import GroupMismatchError
from emlp_rpp.groups.group import Array, Element, Group
from emlp_rpp.groups.permutations import PermutationGroup, permutation_matrix
from emlp_rpp.groups.products import DirectProduct
from emlp_rpp.representations.atoms import Atom, character_atom, pseudoscalar_atom, vector_atoms
from symlab.errors import ConfigError

if TYPE_CHECKING:
    from emlp_rpp.representations.maps import Maps

Term = tuple[Atom, ...]


def term_size(term: Term) -> int:
    return prod(atom.size for atom in term)


def term_name(term: Term) -> str:
    if not term:
        return "1"
    names = [atom.name for atom in term]
    p, q = names.count("V"), names.count("V*")
    if len(names) == 1:
        return names[0]
    if names == ["V"] * p + ["V*"] * q:
        return f"T({p})" if q == 0 else f"T({p},{q})"
    return "*".join(names)


class Representation:
    """``summands`` are pairs (multiplicity, tensor product); equal neighbours are joined, empty ones dropped."""

    def __init__(self, group: Group, summands: Iterable[tuple[int, Term]]):
        self.group = group
        joined: list[tuple[int, Term]] = []
        for multiplicity, term in summands:
            if multiplicity < 0:
                raise ConfigError(f"{multiplicity} copies of {term_name(term)} do not fit: from 0 on")
            if joined and joined[-1][1] == term:
                joined[-1] = (joined[-1][0] + multiplicity, term)
            elif multiplicity:
                joined.append((multiplicity, term))
        self.summands = tuple(joined)

    @classmethod
    def vector(cls, group: Group) -> "Representation":
        return cls(group, [(1, vector_atoms(group))])

    @classmethod
    def scalar(cls, group: Group) -> "Representation":
        return cls(group, [(1, ())])

    @classmethod
    def pseudoscalar(cls, group: Group) -> "Representation":
        """Multiplied by the sign of the determinant."""
        return cls(group, [(1, (pseudoscalar_atom(group),))])

    @property
    def size(self) -> int:
        return sum(multiplicity * term_size(term) for multiplicity, term in self.summands)

    @property
    def term(self) -> Term:
        """The one tensor product of a representation that is no sum."""
        if len(self.summands) != 1 or self.summands[0][0] != 1:
            raise ConfigError(f"{self} is a sum: one tensor product is needed")
        return self.summands[0][1]

    @cached_property
    def dual(self) -> "Representation":
        return Representation(self.group, [(m, tuple(atom.dual for atom in term)) for m, term in self.summands])

    def _with(self, other: object) -> "Representation":
        if not isinstance(other, Representation):
            raise TypeError(f"{other!r} is no representation")
        if other.group != self.group:
            raise GroupMismatchError(
                f"{self} of {self.group} meets {other} of {other.group}: use one group, restrict one of them, or lift both "
                f"to the direct product {self.group} * {other.group}"
            )
        return other

    def __add__(self, other: "Representation") -> "Representation":
        return Representation(self.group, [*self.summands, *self._with(other).summands])

    def __mul__(self, other: "Representation") -> "Representation":
        pairs = [(m * n, (*s, *t)) for m, s in self.summands for n, t in self._with(other).summands]
        return Representation(self.group, pairs)

    def __rmul__(self, multiplicity: int) -> "Representation":
        if len(self.summands) == 1:
            return Representation(self.group, [(multiplicity * m, term) for m, term in self.summands])
        return Representation(self.group, [summand for _ in range(multiplicity) for summand in self.summands])

    def __pow__(self, exponent: int) -> "Representation":
        product = Representation.scalar(self.group)
        for _ in range(exponent):
            product = product * self
        return product

    def __rshift__(self, other: "Representation") -> "Maps":
        """Equivariant linear maps from this representation to another."""
        from emlp_rpp.representations.maps import Maps

        return Maps(self, self._with(other))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Representation) and other.group == self.group
        return same and other.summands == self.summands  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.group, self.summands))

    def __repr__(self) -> str:
        parts = [f"{m}*{term_name(term)}" if m > 1 else term_name(term) for m, term in self.summands]
        return " + ".join(parts) or "0"

    @cached_property
    def _canonical(self) -> tuple["Representation", Array]:
        places: list[tuple[Any, int, Term, Array]] = []
        offset = 0
        for multiplicity, term in self.summands:
            order = canonical_order(term)
            within = np.arange(term_size(term)).reshape([atom.size for atom in term]).transpose(order).reshape(-1)
            ordered = tuple(term[i] for i in order)
            key = (len(ordered), [atom.sort_key for atom in ordered])
            for _ in range(multiplicity):
                places.append((key, len(places), ordered, within + offset))
                offset += len(within)
        places.sort(key=lambda place: place[:2])
        permutation = np.concatenate([place[3] for place in places]) if places else np.arange(0)
        return Representation(self.group, [(1, place[2]) for place in places]), permutation

    @property
    def canonical(self) -> "Representation":
        """Terms by rank, factors V before V*: isomorphic sums written in different orders have one canonical form."""
        return self._canonical[0]

    @property
    def canonical_permutation(self) -> Array:
        """Coordinate i of the canonical form is coordinate ``canonical_permutation[i]`` of this one."""
        return self._canonical[1]

    def matrix(self, element: Element) -> Array:
        """rho(g), of shape (size, size): for small representations."""
        return self._blocks(lambda term: _kron([atom.matrix(element) for atom in term]))

    def algebra_matrix(self, index: int) -> Array:
        """d rho(A_index), of shape (size, size): for small representations."""

        def block(term: Term) -> Array:
            total: Array = np.zeros((term_size(term),) * 2)
            for at, atom in enumerate(term):
                factors = [atom.algebra[index] if i == at else np.eye(other.size) for i, other in enumerate(term)]
                total = total + _kron(factors)
            return total

        return self._blocks(block)

    def _blocks(self, block: Callable[[Term], Array]) -> Array:
        blocks = [matrix for m, term in self.summands for matrix in [block(term)] * m]
        return block_diag(*blocks) if blocks else np.zeros((0, 0))

    def restrict(self, subgroup: Group) -> "Representation":
        """The same tensors under a subgroup of matrices of the same size."""
        if subgroup.dimension != self.group.dimension:
            raise GroupMismatchError(f"{subgroup} is no subgroup of {self.group}: their matrices have different sizes")
        _check_subgroup(subgroup, self.group)
        own = {atom: Representation.vector(subgroup).term[i] for i, atom in enumerate(vector_atoms(self.group))}
        own |= {atom.dual: image.dual for atom, image in own.items() if atom.dual != atom}
        own[pseudoscalar_atom(self.group)] = pseudoscalar_atom(subgroup)
        summands = []
        for multiplicity, term in self.summands:
            foreign = [atom.name for atom in term if atom not in own]
            if foreign:
                raise GroupMismatchError(f"{foreign[0]} of {self.group} has no restriction: it is not made of V, V* and P")
            summands.append((multiplicity, tuple(own[atom] for atom in term)))
        return Representation(subgroup, summands)

    def lift(self, product: DirectProduct, factor: int) -> "Representation":
        """As a representation of a direct product whose factor number ``factor`` is this one's group."""
        if not 0 <= factor < len(product.factors) or product.factors[factor] != self.group:
            raise GroupMismatchError(f"factor {factor} of {product} is not {self.group}")
        return Representation(product, [(m, tuple(a.lifted(product, factor) for a in t)) for m, t in self.summands])


def canonical_order(term: Term) -> list[int]:
    return sorted(range(len(term)), key=lambda at: (term[at].sort_key, at))


def _kron(matrices: Sequence[Array]) -> Array:
    product: Array = np.eye(1)
    for matrix in matrices:
        product = np.kron(product, matrix)
    return product


def _check_subgroup(subgroup: Group, group: Group) -> None:
    """Where it can be decided from the generators: Lie algebras by their spans, permutations by membership."""
    span = group.algebra.reshape(len(group.algebra), group.dimension**2).T
    for matrix in subgroup.algebra:
        flat = matrix.reshape(-1)
        rest = flat - span @ np.linalg.lstsq(span, flat, rcond=None)[0] if span.size else flat
        if np.abs(rest).max() > 1e-10:
            raise GroupMismatchError(f"{subgroup} is no subgroup of {group}: its Lie algebra is not inside")
    if group.permutations is not None:
        inner = subgroup.permutations
        if inner is None or any(generator not in group.permutations for generator in inner.generators):
            raise GroupMismatchError(f"{subgroup} is no subgroup of {group}: a generator is not inside")


def character(group: Group, values: Sequence[float], name: str) -> Representation:
    """One dimension, multiplied by ``values[i]`` under the discrete generator h_i and unchanged by exponentials."""
    return Representation(group, [(1, (character_atom(group, list(values), name),))])


def permutation_representation(group: Group, images: Sequence[Sequence[int]], name: str) -> Representation:
    """A group of permutations acting on other points: generator h_i permutes them by ``images[i]``."""
    if group.permutations is None:
        raise ConfigError(f"{name} does not fit: {group} is no group of permutations")
    degree = len(images[0]) if images else 0
    if len(images) != len(group.discrete) or any(sorted(image) != list(range(degree)) for image in images):
        raise ConfigError(
            f"{name} does not fit: {len(group.discrete)} permutations of 0 .. n-1 are needed, one per generator"
        )
    shift = group.dimension
    joined = [(*p, *(i + shift for i in image)) for p, image in zip(group.permutations.generators, images)]
    if PermutationGroup(joined, shift + degree).order() != group.order():  # an element of G would have two images
        raise ConfigError(f"{name} is no representation of {group}: a relation of its generators is broken")
    discrete = np.array([permutation_matrix(image) for image in images])
    atom = Atom(name, group, discrete, np.zeros((0, degree, degree)))
    return Representation(group, [(1, (atom,))])


def from_function(group: Group, function: Callable[[Tensor], Tensor], name: str) -> Representation:
    """rho(g) = function(g) for a homomorphism of matrices; d rho(A) is its derivative at the identity along A."""
    identity = torch.eye(group.dimension, dtype=torch.complex128 if group.is_complex else torch.float64)
    size = function(identity).shape[-1]
    discrete = [function(torch.tensor(h)).numpy() for h in group.discrete]
    algebra = [torch.autograd.functional.jvp(function, identity, torch.tensor(a))[1].numpy() for a in group.algebra]
    stack: Callable[[list[Any]], Array] = lambda parts: np.array(parts).reshape(-1, size, size)  # noqa: E731
    return Representation(group, [(1, (Atom(name, group, stack(discrete), stack(algebra)),))])
