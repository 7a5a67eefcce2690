"""The factors of tensor products: one space with the images of the group's generators on it.

    V     rho(h) = h           d rho(A) = A
    V*    rho(h) = h^(-T)      d rho(A) = -A^T

Layout: ``discrete`` (M, s, s) and ``algebra`` (D, s, s), in the order of the group's generators. Atoms are equal when their
content is, so V* is V for every orthogonal group.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from emlp_rpp.groups.group import Array, Element, Group
from emlp_rpp.groups.products import DirectProduct
from emlp_rpp.groups.weights import Weights
from symlab.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Atom:
    """``weights`` where the torus of the group is known; ``origin`` is the atom of factor ``factor`` of a direct product."""

    name: str
    group: Group
    discrete: Array
    algebra: Array
    weights: Weights | None = None
    factor: int = 0
    origin: "Atom | None" = field(default=None, repr=False)

    @property
    def size(self) -> int:
        return self.discrete.shape[-1]

    @cached_property
    def digest(self) -> str:
        content = hashlib.sha256(f"{self.size} {self.factor} {len(self.discrete)} {self.discrete.dtype}".encode())
        # -0.0 + 0.0 is 0.0: equal matrices have equal bytes
        content.update((self.discrete + 0.0).tobytes() + (self.algebra + 0.0).tobytes())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and other.group == self.group and other.digest == self.digest

    def __hash__(self) -> int:
        return int(self.digest[:15], 16)

    @property
    def sort_key(self) -> tuple[int, int, str, str]:
        """Canonical order: by factor of a direct product, then V before V* before others."""
        kinds = {"V": 0, "V*": 1}
        return self.factor, kinds.get(self.name.rstrip("0123456789"), 2), self.name, self.digest

    @property
    def dual(self) -> "Atom":
        discrete = np.linalg.inv(self.discrete).swapaxes(1, 2)
        rounded = np.rint(discrete.real)
        if np.array_equal(rounded, discrete) or np.abs(discrete - rounded).max(initial=0.0) < 1e-14:
            discrete = rounded.astype(discrete.dtype)  # inverses of integer matrices of determinant 1 stay exact
        algebra = -self.algebra.swapaxes(1, 2)
        if np.allclose(discrete, self.discrete, rtol=0, atol=1e-14) and np.array_equal(algebra, self.algebra):
            return self
        name = self.name[:-1] if self.name.endswith("*") else f"{self.name}*"
        weights = self.weights.dual if self.weights else None
        origin = self.origin.dual if self.origin else None
        return Atom(name, self.group, discrete, algebra, weights, self.factor, origin)

    def matrix(self, element: Element) -> Array:
        return element.matrix(self.discrete, self.algebra) if element.word else np.eye(self.size)

    def lifted(self, product: DirectProduct, factor: int) -> "Atom":
        """The same space as a representation of a direct product: its other factors act trivially."""
        images = []
        for kind in ("discrete", "algebra"):
            own = getattr(self, kind)
            count, start = len(getattr(product, kind)), product.offsets[kind][factor]
            still = np.eye(self.size) if kind == "discrete" else np.zeros((self.size, self.size))
            every = np.tile(still.astype(own.dtype), (count, 1, 1))
            every[start : start + len(own)] = own
            images.append(every)
        name = f"{self.name}{factor + 1}" if not self.name.endswith("*") else f"{self.name[:-1]}{factor + 1}*"
        return Atom(name, product, images[0], images[1], None, factor, self)


def vector_atoms(group: Group) -> tuple[Atom, ...]:
    """The space a group is defined on; for a direct product the tensor product of its factors' spaces."""
    if isinstance(group, DirectProduct):
        return tuple(atom.lifted(group, at) for at, factor in enumerate(group.factors) for atom in vector_atoms(factor))
    return (Atom("V", group, group.discrete, group.algebra, group.weights),)


def character_atom(group: Group, values: list[float], name: str) -> Atom:
    """A one-dimensional space on which the generator h_i is multiplied by ``values[i]`` and the algebra is zero."""
    if len(values) != len(group.discrete):
        raise ConfigError(f"{name} does not fit: {group} has {len(group.discrete)} discrete generators, not {len(values)}")
    discrete = np.array(values, dtype=group.discrete.dtype).reshape(-1, 1, 1)
    algebra = np.zeros((len(group.algebra), 1, 1), dtype=group.discrete.dtype)
    return Atom(name, group, discrete, algebra, group.weights.trivial if group.weights else None)


def pseudoscalar_atom(group: Group) -> Atom:
    """The sign of the determinant."""
    determinants = np.linalg.det(group.discrete)
    return character_atom(group, np.sign(determinants.real).tolist(), "P")
