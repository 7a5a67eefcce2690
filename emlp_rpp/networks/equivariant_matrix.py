"""A learnable matrix W with W rho_in(g) = rho_out(g) W, built from small bases (thesis, Eq. 2.9 and section 2.4).

For b copies of one tensor type in the output and a copies of another one in the input, all a * b tiles share one basis Q of
the maps between the two types:

    W[copy o, :, copy i, :] = sum_k c[o, i, k] t Q_k

Layout: ``coefficients`` holds c of shape (b, a, rank), block after block in the order of ``Maps.blocks``; ``bases`` holds
t Q_k of shape (rank, rows, columns), one for each different pair of types. Bases are part of the state, so stored
coefficients keep their meaning wherever they are loaded, and they stay float64 whatever the dtype of the module.

The scale t = sqrt(entries that can be non-zero / rank) gives a step of Adam the length that it has where the whole matrix is
the parameter and is projected by Q Q^T, as in the reference: for V -> V both add a multiple of the identity.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from emlp_rpp.networks.components import connected_components
from emlp_rpp.networks.parts import concatenate, part_shapes
from emlp_rpp.representations import Representation
from emlp_rpp.representations.maps import Block, Maps
from emlp_rpp.representations.representation import Term
from emlp_rpp.solver import Basis, Solutions, refuse_empty

_ZERO_ENTRY = 1e-10


@dataclass(frozen=True)
class _Tiles:
    """One block of W: which basis it uses, and how many elements that has; ``rank`` 0 is a block of zeros."""

    block: Block
    basis: int
    rank: int

    @property
    def count(self) -> int:
        return self.block.output_copies * self.block.input_copies * self.rank

    def spread(self, coefficients: Tensor, basis: Tensor) -> Tensor:
        """sum_k c[o, i, k] t Q_k, (rows * b, columns * a): copies last."""
        (rows, columns), b, a = self.block.shape, self.block.output_copies, self.block.input_copies
        if not self.rank:
            return coefficients.new_zeros(b * rows, a * columns)
        if rows == columns == 1:
            return coefficients.view(b, a)  # t Q is 1
        tiles = (basis.mT @ coefficients.view(b * a, self.rank).mT).view(rows, columns, b, a)
        return tiles.transpose(1, 2).reshape(rows * b, columns * a)

    def gather(self, matrix: Tensor) -> Tensor:
        """The tiles of a matrix of the shape of W, (b * a, rows * columns)."""
        (rows, columns), b, a = self.block.shape, self.block.output_copies, self.block.input_copies
        top, left = self.block.row, self.block.column
        window = matrix[top : top + b * rows, left : left + a * columns]
        return window.reshape(b, rows, a, columns).transpose(1, 2).reshape(b * a, rows * columns)


class EquivariantMatrix(nn.Module):
    """``forward()`` is W, (rows, columns) = ``maps.shape``; zero until ``set_nearest`` is called.

    ``components``: pairs of output and input summands that nothing else is connected with, as even and odd tensors of O(n).
    """

    bases: Tensor
    order_in: Tensor
    order_out: Tensor

    def __init__(self, maps: Maps, solutions: Solutions | None = None, allow_empty: bool = False):
        super().__init__()
        self.maps = maps
        solve = solutions or Solutions()
        numbers: dict[Term, int] = {}
        self._tiles: list[_Tiles] = []
        self._shapes: list[tuple[int, int]] = []  # of the bases: (rank, rows * columns)
        self._scales: list[float] = []
        flat: list[Tensor] = []
        for block in maps.blocks():
            term = block.term
            if term not in numbers:
                scaled, scale = _scaled(solve(term), solve.options.limit_bytes)
                numbers[term] = len(self._shapes)
                self._shapes.append((scaled.shape[0], scaled.shape[1]))
                self._scales.append(scale)
                flat.append(scaled.reshape(-1))
            number = numbers[term]
            self._tiles.append(_Tiles(block, number, self._shapes[number][0]))
        self.rank = sum(tiles.count for tiles in self._tiles)
        if not self.rank and not allow_empty:
            raise refuse_empty(maps)
        self.register_buffer("bases", torch.cat([*flat, torch.zeros(0, dtype=torch.float64)]))
        self.coefficients = nn.Parameter(torch.zeros(self.rank))
        outputs, inputs = len(maps.target.summands), len(maps.source.summands)
        self.register_buffer("order_out", _copies_first(maps.target), persistent=False)
        self.register_buffer("order_in", _copies_first(maps.source), persistent=False)
        self._full = (tuple(range(outputs)), tuple(range(inputs)))
        links = [divmod(at, inputs) for at, tiles in enumerate(self._tiles) if tiles.rank]
        self.components = connected_components(outputs, inputs, links)

    def forward(self) -> Tensor:
        copies_last = self.assemble([self._full])[0]
        return copies_last[self.order_out][:, self.order_in]

    def assemble(self, components: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[Tensor]:
        """W between these output and input summands, dense and for features whose copies are the last axis (``parts``)."""
        bases = self._split_bases(self.coefficients.dtype)
        own = self.coefficients.split([tiles.count for tiles in self._tiles])
        width = len(self._full[1])
        matrices = []
        for outputs, inputs in components:
            rows = []
            for output in outputs:
                numbers = [output * width + entry for entry in inputs]
                rows.append(
                    concatenate([self._tiles[at].spread(own[at], bases[self._tiles[at].basis]) for at in numbers], 1)
                )
            matrices.append(concatenate(rows, 0))
        return matrices

    @torch.no_grad()
    def set_nearest(self, matrix: Tensor) -> None:
        """Make W the orthogonal projection Q Q^T of a matrix of its shape."""
        bases, exact = self._split_bases(torch.float64), matrix.double()
        parts = [
            (tiles.gather(exact) @ bases[tiles.basis].mT / self._scales[tiles.basis] ** 2).reshape(-1)
            for tiles in self._tiles
        ]
        self.coefficients.copy_(torch.cat(parts))

    def _split_bases(self, dtype: torch.dtype) -> list[Tensor]:
        parts = self.bases.to(dtype).split([rank * size for rank, size in self._shapes])
        return [part.view(shape) for part, shape in zip(parts, self._shapes)]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        exact = self.bases
        super()._apply(fn, recurse)
        self.bases = exact.to(self.bases.device)  # moved, never rounded
        return self

    def extra_repr(self) -> str:
        rows, columns = self.maps.shape
        return f"{self.maps}, {rows} x {columns}, rank {self.rank}"


def _copies_first(representation: Representation) -> Tensor:
    """Where each coordinate of a representation is when copies are the last axis of every summand."""
    orders, start = [], 0
    for size, copies in part_shapes(representation):
        orders.append(start + torch.arange(size * copies).view(size, copies).mT.reshape(-1))
        start += size * copies
    return torch.cat(orders)


def _scaled(basis: Basis, limit_bytes: int) -> tuple[Tensor, float]:
    """t Q^T, (rank, size), and t."""
    columns = basis.dense(limit_bytes)
    if not basis.rank:
        return columns.mT.contiguous(), 1.0
    reachable = int((columns.abs().amax(dim=1) > _ZERO_ENTRY).sum())
    scale = (reachable / basis.rank) ** 0.5
    scaled = scale * columns.mT
    return (scaled.abs() if scaled.numel() == 1 else scaled).contiguous(), scale  # a single entry is 1
