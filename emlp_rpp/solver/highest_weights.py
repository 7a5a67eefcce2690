"""Splitting a tensor product under a reductive Lie algebra into irreducible spaces, all in real arithmetic on small blocks.

In weight coordinates (``emlp_rpp.groups.weights``) let W_mu be the coordinates of weight mu and e_a: W_mu -> W_(mu + a).

1. A highest weight vector of weight lambda is a vector of W_lambda that every e_a annihilates; their number is the
multiplicity
   m of the irreducible space lambda. An orthonormal set of them is the null space of the stacked blocks of e_a.
2. From m highest weight vectors at once, lower weights follow by f_a = e_a^T. On W_mu the candidates f_a u have the same
Gram
   matrix in every copy (the form is unitary), so one small matrix makes all copies orthonormal in the same way.

So copies a = 1..m of lambda get bases u_(a, i), i = 1..d, on which the algebra acts by the same matrices rho(X). Replayed
from lowest weight vectors of another space with -e in place of f, the same small matrices give the dual basis u*_(b, i),
and

    x_(a, b) = d^(-1/2) sum_i u_(a, i) (x) u*_(b, i)

are orthonormal invariants of the product of both spaces: by Schur's lemma all of them. A tensor of size N is solved by
splitting spaces of size about sqrt(N)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.sparse import csr_array, eye_array, kron

from emlp_rpp.errors import UnresolvedRankError
from emlp_rpp.groups.group import Array
from emlp_rpp.groups.weights import Weights

Weight = tuple[int, ...]
MINIMAL_GAP = 1e4


class Gap:
    """The smallest singular value taken for non-zero and the largest taken for zero, over all decisions."""

    def __init__(self) -> None:
        self.smallest_kept, self.largest_dropped = inf, 0.0

    def decide(self, values: Array) -> int:
        """How many of the descending ``values`` count as non-zero."""
        scale = max(1.0, float(values[0])) if len(values) else 1.0
        kept = int((values > 1e-6 * scale).sum())
        if kept:
            self.smallest_kept = min(self.smallest_kept, float(values[kept - 1]) / scale)
        if kept < len(values):
            self.largest_dropped = max(self.largest_dropped, float(values[kept]) / scale)
        if self.ratio < MINIMAL_GAP:
            raise UnresolvedRankError(
                f"the rank is not decided: singular values {self.smallest_kept:.1e} and {self.largest_dropped:.1e} "
                "are too close"
            )
        return kept

    @property
    def ratio(self) -> float:
        return float(self.smallest_kept / self.largest_dropped) if self.largest_dropped > 0 else inf


def kron_sum(matrices: Sequence[Array]) -> csr_array:
    """sum_i 1 (x) .. (x) M_i (x) .. (x) 1."""
    total = csr_array((1, 1), dtype=np.float64)
    for matrix in matrices:
        total = kron(total, eye_array(len(matrix)), format="csr") + kron(eye_array(total.shape[0]), matrix, format="csr")
    return csr_array(total)


def kron_product(matrices: Sequence[Array]) -> csr_array:
    product = csr_array(np.eye(1))
    for matrix in matrices:
        product = kron(product, csr_array(matrix), format="csr")
    return csr_array(product)


class WeightSpace:
    """A tensor product in weight coordinates: which coordinates have which weight, and the blocks of e_a between them."""

    def __init__(self, factors: Sequence[Weights]):
        self.factors = tuple(factors)
        self.roots: list[Weight] = [tuple(root) for root in factors[0].roots.tolist()]
        self.moduli = np.array(factors[0].moduli, dtype=np.int64)
        weights = np.zeros((1, len(self.moduli)), dtype=np.int64)
        for factor in factors:
            weights = (weights[:, None] + factor.weights[None]).reshape(-1, len(self.moduli))
        self.size = len(weights)
        self.weights = self.reduce(weights)
        distinct, inverse = np.unique(self.weights, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(distinct) + 1))
        self.indices: dict[Weight, Array] = {
            tuple(weight): order[bounds[i] : bounds[i + 1]] for i, weight in enumerate(distinct.tolist())
        }
        place = np.empty(self.size, dtype=np.int64)
        place[order] = np.arange(self.size)
        self.start = {tuple(weight): int(bounds[i]) for i, weight in enumerate(distinct.tolist())}
        # Rows and columns sorted by weight: a block is a slice of rows with columns shifted.
        self.raising = []
        for root in range(len(self.roots)):
            operator = kron_sum([factor.raising[root] for factor in factors]).tocoo()
            shape = (self.size, self.size)
            self.raising.append(csr_array((operator.data, (place[operator.row], place[operator.col])), shape=shape))
        heights = np.linalg.lstsq(factors[0].roots.astype(float), np.ones(len(self.roots)), rcond=None)[0]
        self.height = {weight: round(float(np.dot(weight, heights)), 6) for weight in self.indices}
        self._blocks: dict[tuple[int, Weight], Array] = {}

    def reduce(self, weights: Array) -> Array:
        return np.where(self.moduli > 0, weights % np.maximum(self.moduli, 1), weights)

    def minus(self, weight: Weight) -> Weight:
        return tuple(self.reduce(-np.array(weight, dtype=np.int64)).tolist())

    def raised(self, weight: Weight, root: int) -> Weight:
        return tuple(a + b for a, b in zip(weight, self.roots[root]))

    def lowered(self, weight: Weight, root: int) -> Weight:
        return tuple(a - b for a, b in zip(weight, self.roots[root]))

    def raising_block(self, root: int, weight: Weight) -> Array | None:
        """e_root: W_weight -> W_(weight + root), dense; None where the target is no weight of this space."""
        target = self.raised(weight, root)
        if target not in self.indices or weight not in self.indices:
            return None
        key = (root, weight)
        if key not in self._blocks:
            operator, first, rows = self.raising[root], self.start[target], len(self.indices[target])
            begin, end = operator.indptr[first], operator.indptr[first + rows]
            block = np.zeros((rows, len(self.indices[weight])))
            row_of = np.repeat(np.arange(rows), np.diff(operator.indptr[first : first + rows + 1]))
            block[row_of, operator.indices[begin:end] - self.start[weight]] = operator.data[begin:end]
            self._blocks[key] = block
        return self._blocks[key]

    def extreme_vectors(self, weight: Weight, gap: Gap, highest: bool) -> Array:
        """Orthonormal columns (n_weight, m): annihilated by all e (highest) or by all f (lowest)."""
        blocks = []
        for root in range(len(self.roots)):
            if highest:
                block = self.raising_block(root, weight)
            else:
                raised_from = self.raising_block(root, self.lowered(weight, root))
                block = None if raised_from is None else raised_from.T
            if block is not None:
                blocks.append(block)
        size = len(self.indices[weight])
        if not blocks:
            return np.eye(size)
        _, values, right = np.linalg.svd(np.concatenate(blocks), full_matrices=True)
        return right[gap.decide(values) :].T


@dataclass(frozen=True)
class Copies:
    """All copies of one irreducible space: for each of its weights the coordinates and the values (n, m, d_weight)."""

    multiplicity: int
    dimension: int
    parts: tuple[tuple[Array, Array], ...]

    def matrix(self, size: int) -> csr_array:
        """(size, multiplicity * dimension), columns ordered (copy, i)."""
        rows, columns, values, offset = [], [], [], 0
        for indices, block in self.parts:
            n, m, d = block.shape
            column = np.arange(m)[:, None] * self.dimension + offset + np.arange(d)
            rows.append(np.broadcast_to(indices[:, None, None], block.shape).reshape(-1))
            columns.append(np.broadcast_to(column, (n, m, d)).reshape(-1))
            values.append(block.reshape(-1))
            offset += d
        shape = (size, self.multiplicity * self.dimension)
        return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def paired_copies(left: WeightSpace, right: WeightSpace, gap: Gap) -> list[tuple[Weight, Copies, Copies]]:
    """For every irreducible space in ``left`` whose dual is in ``right``: its copies and the copies of the dual."""
    pairs = []
    for weight in sorted(left.indices, key=lambda each: (-left.height[each], each)):
        opposite = right.minus(weight)
        if opposite not in right.indices:
            continue
        highest = left.extreme_vectors(weight, gap, highest=True)
        if not highest.shape[1]:
            continue
        lowest = right.extreme_vectors(opposite, gap, highest=False)
        if lowest.shape[1]:
            pairs.append((weight, *_grow(left, right, weight, highest, lowest, gap)))
    return pairs


def _grow(
    left: WeightSpace, right: WeightSpace, highest: Weight, above: Array, below: Array, gap: Gap
) -> tuple[Copies, Copies]:
    """Generate both spaces level by level from their extreme vectors, (n, m) each."""
    ours: dict[Weight, Array] = {highest: above[:, :, None]}
    duals: dict[Weight, Array] = {highest: below[:, :, None]}  # at the weight whose opposite it has
    level = [highest]
    while level:
        reached = dict.fromkeys(left.lowered(weight, root) for weight in level for root in range(len(left.roots)))
        level = []
        for weight in sorted(reached):
            if weight not in left.indices:
                continue
            sources = [(root, left.raised(weight, root)) for root in range(len(left.roots))]
            sources = [(root, source) for root, source in sources if source in ours]
            lowered = [_lower(left, root, weight, ours[source]) for root, source in sources]
            joined = np.concatenate(lowered, axis=2)
            _, values, right_vectors = np.linalg.svd(joined[:, 0], full_matrices=False)  # every copy has the same
            kept = gap.decide(values)
            if not kept:
                continue
            mixing = right_vectors[:kept].T / values[:kept]
            ours[weight] = joined @ mixing
            raised = [_raise(right, root, right.minus(source), duals[source]) for root, source in sources]
            duals[weight] = -np.concatenate(raised, axis=2) @ mixing
            level.append(weight)
    dimension = sum(values.shape[2] for values in ours.values())
    return (
        Copies(above.shape[1], dimension, tuple((left.indices[weight], block) for weight, block in ours.items())),
        Copies(below.shape[1], dimension, tuple((right.indices[right.minus(w)], block) for w, block in duals.items())),
    )


def _lower(space: WeightSpace, root: int, to: Weight, values: Array) -> Array:
    """f_root u, from the weight above ``to`` to ``to``."""
    block = space.raising_block(root, to)
    assert block is not None  # both weights occur in the space
    return np.tensordot(block.T, values, 1)


def _raise(space: WeightSpace, root: int, of: Weight, values: Array) -> Array:
    """e_root u, from the weight ``of`` to the one above."""
    block = space.raising_block(root, of)
    assert block is not None  # the dual space has the opposite weights
    return np.tensordot(block, values, 1)
