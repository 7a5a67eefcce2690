"""Groups of (signed) permutations: an invariant tensor is constant on the orbits of index tuples. Only integers are used.

A generator maps the tuple (i_1 .. i_k) to (p(i_1) .. p(i_k)), with the product of the signs. Orbits are the connected
components of the graph that joins each tuple with its images. With signs, a tuple is two nodes (+ and -); a component
that contains both nodes of a tuple forces its value to be zero."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from emlp_rpp.groups.permutations import as_signed_permutation
from emlp_rpp.representations.representation import Term, term_size
from emlp_rpp.solver.basis import Basis, Certificate

Integers = NDArray[np.int64]


class OrbitBasis(Basis):
    """``labels`` (size,): the orbit of each coordinate, -1 where the value must be 0; ``signs`` (size,) or None."""

    def __init__(self, labels: NDArray[np.int32], rank: int, signs: NDArray[np.int8] | None = None):
        self.size, self.rank = len(labels), rank
        self.labels, self.signs = labels, signs
        self.certificate = Certificate("orbits of index tuples")
        kept = labels[labels >= 0] if signs is not None else labels
        self.counts = np.bincount(kept, minlength=rank)

    def _parts(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Orbit and value of each coordinate in its column; coordinates that must be 0 have the value 0."""
        labels = torch.from_numpy(np.maximum(self.labels, 0).astype(np.int64)).to(like.device)
        values = torch.from_numpy(1 / np.sqrt(np.maximum(self.counts, 1))).to(like.device)
        column = values[labels] if self.rank else torch.zeros(self.size, dtype=torch.float64, device=like.device)
        if self.signs is not None:
            column = (
                column * torch.from_numpy(self.signs).to(like.device) * torch.from_numpy(self.labels >= 0).to(like.device)
            )
        return labels, column.to(like.dtype)

    def _dense(self) -> Tensor:
        matrix = torch.zeros(self.size, self.rank, dtype=torch.float64)
        if self.rank:
            labels, column = self._parts(matrix)
            matrix[torch.arange(self.size), labels] = column
        return matrix

    def combine(self, coefficients: Tensor) -> Tensor:
        if not self.rank:
            return coefficients.new_zeros(*coefficients.shape[:-1], self.size)
        labels, column = self._parts(coefficients)
        return coefficients[..., labels] * column

    def coefficients(self, vectors: Tensor) -> Tensor:
        labels, column = self._parts(vectors)
        sums = vectors.new_zeros(*vectors.shape[:-1], self.rank)
        return sums.index_add(-1, labels, vectors * column) if self.rank else sums


def signed_permutations(term: Term) -> list[list[tuple[Integers, Integers]]] | None:
    """For each generator the (images, signs) of every factor; None if a generator of one is no signed permutation."""
    if not term or any(len(atom.algebra) for atom in term):
        return None
    generators = []
    for index in range(len(term[0].discrete)):
        found = [as_signed_permutation(atom.discrete[index]) for atom in term]
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            return None
        generators.append(parts)
    return generators


def _on_tuples(parts: Sequence[tuple[Integers, Integers]], kind: type) -> tuple[NDArray[Any], NDArray[Any]]:
    """Image and sign of every flat index."""
    images: NDArray[Any] = np.zeros(1, dtype=kind)
    signs: NDArray[Any] = np.ones(1, dtype=np.int8)
    for image, sign in parts:
        images = (images[:, None] * len(image) + image.astype(kind)).reshape(-1)
        signs = (signs[:, None] * sign.astype(np.int8)).reshape(-1)
    return images, signs


def _components(targets: list[NDArray[Any]], size: int) -> tuple[int, NDArray[np.int32]]:
    """Components of the graph with an edge from node i to each ``targets[g][i]``.

    Permutations have finite order, so an image can always be walked back: strong components are components.
    """
    width = len(targets)
    kind = np.int32 if size * width < 2**31 else np.int64
    starts = np.arange(0, size * width + 1, width, dtype=kind)
    ends = np.stack(targets, axis=1).reshape(-1).astype(kind, copy=False)
    graph = csr_array((np.ones(len(ends), dtype=np.int8), ends, starts), shape=(size, size))
    return connected_components(graph, directed=True, connection="strong")


def solve_by_orbits(term: Term, generators: list[list[tuple[Integers, Integers]]]) -> OrbitBasis:
    size = term_size(term)
    moved = [_on_tuples(parts, np.int32 if 2 * size < 2**31 else np.int64) for parts in generators]
    if all((signs > 0).all() for _, signs in moved):
        count, labels = _components([images for images, _ in moved], size)
        return OrbitBasis(labels, count)
    # Node i is +e_i, node i + size is -e_i.
    targets = []
    for images, signs in moved:
        plus = np.where(signs > 0, images, images + size)
        targets.append(np.concatenate([plus, np.where(plus < size, plus + size, plus - size)]))
    _, nodes = _components(targets, 2 * size)
    plus, minus = nodes[:size], nodes[size:]
    alive = plus != minus
    lower = np.minimum(plus, minus)
    found, relabelled = np.unique(lower[alive], return_inverse=True)
    labels = np.full(size, -1, dtype=np.int32)
    labels[alive] = relabelled
    return OrbitBasis(labels, len(found), np.where(plus <= minus, 1, -1).astype(np.int8))
