"""The basis of a reductive group, kept as the two split halves of the tensor (``highest_weights``).

The tensor factors are cut into a left and a right half of about equal size. With copies u_(lambda, a, i) on the left and
dual copies v_(lambda, b, i) on the right, invariants of the identity component are x_(lambda, a, b) = d^(-1/2) sum_i
u_(a, i) v_(b, i).

A linear map M (x) N that acts on both halves has, in this basis, the entries

    <x_(lambda, a, b), (M (x) N) x_(mu, c, e)> = (d d')^(-1/2) sum_ij  K_M[(a, i), (c, j)] K_N[(b, i), (e, j)]

with K_M = u^T M u. This gives the action of discrete generators (whose fixed vectors are then a small null space) and of
complex conjugation (whose fixed vectors are the real basis), without ever forming a tensor."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array, kron
from torch import Tensor

from emlp_rpp.errors import ProblemTooLargeError, UnresolvedRankError
from emlp_rpp.groups.group import Array
from emlp_rpp.groups.weights import Weights
from emlp_rpp.representations.representation import Term, term_size
from emlp_rpp.solver.basis import Basis, Certificate
from emlp_rpp.solver.highest_weights import Copies, Gap, Weight, WeightSpace, kron_product, kron_sum, paired_copies
from emlp_rpp.solver.modes import apply_modes

LARGEST_HALF = 50_000
KEPT_BYTES = 2**30  # above, Q is applied factor by factor instead of being kept
_SEED = 20210


def split_at(sizes: Sequence[int]) -> int:
    """Where to cut the factors so that the larger half is smallest."""
    return min(range(len(sizes) + 1), key=lambda cut: max(np.prod(sizes[:cut]), np.prod(sizes[cut:])))


class WeightBasis(Basis):
    """``pairs``: the irreducible spaces of both halves; ``mixing`` (connected rank, rank): the columns fixed by the discrete
    generators too, and real where the group is."""

    def __init__(
        self,
        weights: tuple[Weights, ...],
        pairs: Sequence[tuple[Weight, Copies, Copies]],
        mixing: Array,
        is_complex: bool,
        certificate: Certificate,
    ):
        self.weights, self.pairs, self.mixing, self.is_complex = weights, list(pairs), mixing, is_complex
        self.sizes = [len(each.weights) for each in weights]
        self.cut = split_at(self.sizes)
        self.size = int(np.prod(self.sizes, dtype=object)) if self.sizes else 1
        self.rank = mixing.shape[1]
        self.certificate = certificate

    @property
    def halves(self) -> tuple[int, int]:
        return int(np.prod(self.sizes[: self.cut])), int(np.prod(self.sizes[self.cut :]))

    def _zero_weight_blocks(self) -> list[tuple[Array, tuple[int, Array]]]:
        """(flat indices, (first column, values (n, columns))) for every irreducible space and each of its weights."""
        right = self.halves[1]
        blocks, column = [], 0
        for _, left_copies, right_copies in self.pairs:
            count = left_copies.multiplicity * right_copies.multiplicity
            for (rows, u), (columns, v) in zip(left_copies.parts, right_copies.parts):
                values = np.einsum("xai,ybi->xyab", u, v, optimize=True).reshape(len(rows) * len(columns), count)
                flat = (rows[:, None].astype(np.int64) * right + columns).reshape(-1)
                blocks.append((flat, (column, values / np.sqrt(left_copies.dimension))))
            column += count
        return blocks

    @cached_property
    def core(self) -> tuple[Array, Array]:
        """(indices, values (indices, rank)): Q in weight coordinates, zero elsewhere."""
        blocks = self._zero_weight_blocks()
        if not blocks:
            return np.zeros(0, dtype=np.int64), np.zeros((0, self.rank))
        indices = np.unique(np.concatenate([flat for flat, _ in blocks]))
        values = np.zeros((len(indices), len(self.mixing)))
        for flat, (column, block) in blocks:
            values[np.searchsorted(indices, flat), column : column + block.shape[1]] += block
        return indices, values @ self.mixing

    def _dense(self) -> Tensor:
        kind = torch.complex128 if self.is_complex else torch.float64
        return self._expand(torch.eye(self.rank, dtype=kind)).mT.contiguous()

    def combine(self, coefficients: Tensor) -> Tensor:
        if self.dense_bytes <= KEPT_BYTES:
            return super().combine(coefficients)
        flat = coefficients.reshape(-1, self.rank)
        return self._expand(flat).reshape(*coefficients.shape[:-1], self.size)

    def coefficients(self, vectors: Tensor) -> Tensor:
        if self.dense_bytes <= KEPT_BYTES:
            return super().coefficients(vectors)
        indices, values = self.core
        flat = vectors.reshape(-1, self.size).mT.to(torch.complex128)
        weighted = apply_modes([_tensor(each.change.conj().T) for each in self.weights], flat)[torch.from_numpy(indices)]
        found = (_tensor(values).mH @ weighted).mT.reshape(*vectors.shape[:-1], self.rank)
        return (found if vectors.is_complex() else found.real).to(vectors.dtype)

    def _expand(self, coefficients: Tensor) -> Tensor:
        """(batch, rank) -> (batch, size): into weight coordinates, then factor by factor into standard ones."""
        indices, values = self.core
        real_change = all(not np.iscomplexobj(each.change) for each in self.weights)
        kind = torch.float64 if real_change and not coefficients.is_complex() else torch.complex128
        tensor = torch.zeros(self.size, len(coefficients), dtype=kind)
        tensor[torch.from_numpy(indices)] = torch.from_numpy(values).to(kind) @ coefficients.mT.to(kind)
        if not real_change:
            tensor = apply_modes([_tensor(each.change) for each in self.weights], tensor)
        if tensor.is_complex() and not coefficients.is_complex():
            tensor = tensor.real
        return tensor.mT.to(coefficients.dtype)


def _tensor(matrix: Array) -> Tensor:
    return torch.from_numpy(np.asarray(matrix, dtype=np.complex128))


class _Halves:
    """Both halves as sparse matrices, columns (lambda, copy, i), and the products above."""

    def __init__(self, weights: Sequence[Weights], cut: int, pairs: Sequence[tuple[Weight, Copies, Copies]]):
        self.weights, self.cut = tuple(weights), cut
        self.copies = [[pair[1] for pair in pairs], [pair[2] for pair in pairs]]
        sizes = [len(each.weights) for each in weights]
        lengths = [int(np.prod(sizes[:cut])), int(np.prod(sizes[cut:]))]
        self.matrices: list[list[csr_array]] = [
            [each.matrix(length) for each in copies] for copies, length in zip(self.copies, lengths)
        ]
        self.counts = [a.multiplicity * b.multiplicity for a, b in zip(*self.copies)]
        self.offsets = np.cumsum([0, *self.counts])

    def parts(self, small: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        return small[: self.cut], small[self.cut :]

    def action(self, small: Sequence[Array]) -> Array:
        """The matrix of small_1 (x) small_2 (x) .. in the basis x, (connected rank, connected rank)."""
        operators = [kron_product(part) for part in self.parts(small)]
        complex_valued = any(np.iscomplexobj(each) for each in small)
        rank = int(self.offsets[-1])
        matrix = np.zeros((rank, rank), dtype=np.complex128 if complex_valued else np.float64)
        moved = [[operator @ u for u in side] for operator, side in zip(operators, self.matrices)]
        for target in range(len(self.counts)):
            for source in range(len(self.counts)):
                blocks = []
                for side in (0, 1):
                    to, of = self.copies[side][target], self.copies[side][source]
                    block = (self.matrices[side][target].T @ moved[side][source]).toarray()
                    blocks.append(block.reshape(to.multiplicity, to.dimension, of.multiplicity, of.dimension))
                if not (blocks[0].any() and blocks[1].any()):
                    continue
                scale = np.sqrt(self.copies[0][target].dimension * self.copies[0][source].dimension)
                entry = np.einsum("aicj,biej->abce", *blocks, optimize=True) / scale
                rows = slice(self.offsets[target], self.offsets[target + 1])
                columns = slice(self.offsets[source], self.offsets[source + 1])
                matrix[rows, columns] = entry.reshape(self.counts[target], self.counts[source])
        return matrix

    def algebra_residual(self, small: Sequence[Array]) -> float:
        """A bound of the norm of every (X (x) 1 + 1 (x) X) x_(a, b), from how X acts on each half.

        With rho the matrix of X on the first copy, orthonormal columns give
        d^(1/2) |X x_(a, b)| <= |X u_a - u_a rho| + |X v_b + v_b rho^T|.
        """
        worst = 0.0
        operators = [kron_sum(part) for part in self.parts(small)]
        for at in range(len(self.counts)):
            size = self.copies[0][at].dimension
            moved = [operators[side] @ self.matrices[side][at] for side in (0, 1)]
            rho = (self.matrices[0][at][:, :size].T @ moved[0][:, :size]).toarray()
            bound = 0.0
            for side, matrix in ((0, rho), (1, -rho.T)):
                copies = eye_array(self.copies[side][at].multiplicity)
                away = moved[side] - self.matrices[side][at] @ kron(copies, csr_array(matrix), format="csr")
                squares = np.bincount(away.indices // size, np.abs(away.data) ** 2, minlength=1)
                bound += float(np.sqrt(squares.max()))
            worst = max(worst, bound / np.sqrt(size))
        return worst

    def orthogonality(self) -> float:
        """How far the columns of each half are from orthonormal."""
        worst = 0.0
        for side in self.matrices:
            for columns in side:
                product = columns.T @ columns
                product.setdiag(product.diagonal() - 1.0)
                worst = max(worst, float(np.abs(product.data).max(initial=0.0)))
        return worst


def fixed_vectors(actions: Sequence[Array], gap: Gap) -> Array:
    """Orthonormal columns with H c = c for every H."""
    size = len(actions[0])
    if not size:
        return np.zeros((0, 0))
    _, values, right = np.linalg.svd(np.concatenate([action - np.eye(size) for action in actions]), full_matrices=True)
    return right[gap.decide(values) :].conj().T


def real_columns(conjugation: Array) -> Array:
    """T unitary with M = T T^T for the symmetric unitary M: then x T is real (Takagi's factorisation).

    M = X + i Y with commuting symmetric X, Y: a generic combination of them is diagonalised by a real orthogonal matrix.
    """
    if not np.iscomplexobj(conjugation):
        conjugation = conjugation.astype(np.complex128)
    for angle in (0.7306, 1.1903, 0.2177, 2.0371):
        combined = np.cos(angle) * conjugation.real + np.sin(angle) * conjugation.imag
        _, vectors = np.linalg.eigh((combined + combined.T) / 2)
        phases = np.diag(vectors.T @ conjugation @ vectors)
        if np.abs(vectors * phases @ vectors.T - conjugation).max(initial=0.0) < 1e-9:
            return vectors * np.sqrt(phases)
    raise UnresolvedRankError(
        "complex conjugation does not act on the basis as a symmetric unitary matrix: it is not complete"
    )


def solve_by_weights(term: Term) -> WeightBasis:
    weights = tuple(atom.weights for atom in term if atom.weights is not None)
    sizes = [atom.size for atom in term]
    cut = split_at(sizes)
    largest = max(int(np.prod(sizes[:cut])), int(np.prod(sizes[cut:])))
    if largest > LARGEST_HALF:
        raise ProblemTooLargeError(
            f"a tensor of {term_size(term):,} coordinates is split into halves of up to {largest:,}: "
            f"{LARGEST_HALF:,} is the limit"
        )
    group, gap = term[0].group, Gap()
    none = (weights[0].trivial,)
    left, right = WeightSpace(weights[:cut] or none), WeightSpace(weights[cut:] or none)
    pairs = paired_copies(left, right, gap)
    halves = _Halves(weights, cut, pairs)
    mixing: Array = np.eye(int(halves.offsets[-1]))
    residual = halves.orthogonality()
    continuous = len(group.algebra) > 0
    if pairs and continuous:
        generator = np.random.default_rng(_SEED)
        for _ in range(2):  # two random elements generate the algebra
            mixed = generator.standard_normal(len(group.algebra)) / np.sqrt(len(group.algebra))
            small = [w.in_weight_coordinates(np.tensordot(mixed, a.algebra, 1)) for w, a in zip(weights, term)]
            residual = max(residual, halves.algebra_residual(small))
    if len(group.discrete) and mixing.size:
        actions = []
        for index in range(len(group.discrete)):
            small = [w.in_weight_coordinates(atom.discrete[index]) for w, atom in zip(weights, term)]
            actions.append(halves.action([_tidy(each) for each in small]))
            unitary = actions[-1].conj().T @ actions[-1]
            residual = max(residual, float(np.abs(unitary - np.eye(len(unitary))).max()))
        mixing = fixed_vectors(actions, gap)
        if mixing.size:
            residual = max(residual, *(float(np.abs(action @ mixing - mixing).max()) for action in actions))
    if not group.is_complex and any(np.iscomplexobj(each.change) for each in weights) and mixing.size:
        swaps = [_tidy(each.change.conj().T @ each.change.conj()) for each in weights]
        conjugation = mixing.conj().T @ halves.action(swaps) @ mixing.conj()
        mixing = mixing @ real_columns(conjugation)
    certificate = Certificate("highest weights of two halves", float(residual), gap.ratio)
    return WeightBasis(weights, pairs, mixing, group.is_complex, certificate)


def _tidy(matrix: Array) -> Array:
    """Rounding errors to exact zeros, so that products stay sparse, and real where nothing imaginary is left."""
    cleaned = np.where(np.abs(matrix) < 1e-14, 0, matrix)
    cleaned.real[np.abs(cleaned.real) < 1e-14] = 0.0
    if np.iscomplexobj(cleaned):
        cleaned.imag[np.abs(cleaned.imag) < 1e-14] = 0.0
        if not cleaned.imag.any():
            return cleaned.real
    return cleaned
