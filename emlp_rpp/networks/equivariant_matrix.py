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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from emlp_rpp.networks.components import connected_components
from emlp_rpp.networks.parts import concatenate
from emlp_rpp.representations.maps import Block, Maps
from emlp_rpp.representations.representation import Term
from emlp_rpp.solver import Basis, Solutions, refuse_empty
from symlab.signatures import with_signature

_ZERO_ENTRY = 1e-10


@dataclass(frozen=True)
class _Tiles:
    """One block of W: which basis it uses, and how many elements that has; ``rank`` 0 is a block of zeros."""

    block: Block
    basis: int
    rank: int

    @cached_property
    def count(self) -> int:
        return self.block.output_copies * self.block.input_copies * self.rank

    @cached_property
    def size(self) -> int:
        """Of one tile."""
        return self.block.shape[0] * self.block.shape[1]

    @cached_property
    def entries(self) -> int:
        return self.block.output_copies * self.block.input_copies * self.size

    @cached_property
    def is_scalar(self) -> bool:
        """Whether t Q is 1."""
        return self.block.shape == (1, 1)

    def window(self, matrix: Tensor, row: int, column: int) -> Tensor:
        """The tiles of a matrix from this row and column on, (b, a, rows, columns)."""
        (rows, columns), b, a = self.block.shape, self.block.output_copies, self.block.input_copies
        window = matrix[row : row + b * rows, column : column + a * columns]
        return window.unflatten(1, (a, columns)).unflatten(0, (b, rows)).transpose(1, 2)


@dataclass(frozen=True)
class _Layout:
    """A matrix of this shape, and its tiles: (tiles, row, column, where their coefficients begin).

    Entries of all tiles, one after the other as (b, a, rows, columns), are the ``values`` of a layout. One gather puts them
    into the matrix, another one takes them out: a layer has many small tiles, and to place each by itself would take longer
    than to compute it.
    """

    shape: tuple[int, int]
    places: tuple[tuple[_Tiles, int, int, int], ...]
    _moved: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict, compare=False)

    @cached_property
    def is_covered(self) -> bool:
        """Whether the tiles leave no entry out."""
        return sum(tiles.entries for tiles, *_ in self.places) == self.shape[0] * self.shape[1]

    def indices(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """For each entry of the matrix the value that it has, the one after the last where it is zero; for each value its
        entry."""
        if device not in self._moved:
            numbers = torch.arange(self.shape[0] * self.shape[1], device="cpu").view(self.shape)
            windows = [tiles.window(numbers, row, column).flatten() for tiles, row, column, _ in self.places]
            entries = torch.cat([*windows, numbers.new_zeros(0)])
            values = torch.full((numbers.numel(),), len(entries), device="cpu")
            values[entries] = torch.arange(len(entries), device="cpu")
            self._moved[device] = values.to(device), entries.to(device)
        return self._moved[device]

    def matrix(self, coefficients: Tensor, bases: Sequence[Tensor]) -> Tensor:
        found = []
        for tiles, _, _, start in self.places:
            own = coefficients[start : start + tiles.count]
            found.append(own if tiles.is_scalar else (own.view(-1, tiles.rank) @ bases[tiles.basis]).view(-1))
        if not found or not self.is_covered:
            found.append(coefficients.new_zeros(1))
        return concatenate(found, 0).index_select(0, self.indices(coefficients.device)[0]).view(self.shape)

    def coefficients(self, matrix: Tensor, bases: Sequence[Tensor]) -> Iterator[tuple[int, Tensor]]:
        """The transpose of ``matrix``: where the coefficients of each tiles begin, and what they are."""
        values = matrix.reshape(-1).index_select(0, self.indices(matrix.device)[1])
        for (tiles, _, _, start), own in zip(self.places, values.split([tiles.entries for tiles, *_ in self.places])):
            yield start, own if tiles.is_scalar else (own.view(-1, tiles.size) @ bases[tiles.basis].mT).view(-1)


class _Assemble(torch.autograd.Function):
    """Coefficients and bases -> one matrix for each layout; linear in the coefficients, with ``_Collect`` as transpose."""

    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(coefficients: Tensor, bases: Sequence[Tensor], layouts: Sequence[_Layout]) -> tuple[Tensor, ...]:
        return tuple(layout.matrix(coefficients, bases) for layout in layouts)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        coefficients, ctx.bases, ctx.layouts = inputs
        ctx.count = len(coefficients)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _Collect.apply(ctx.bases, ctx.layouts, ctx.count, *gradients), None, None


class _Collect(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(bases: Sequence[Tensor], layouts: Sequence[_Layout], count: int, *matrices: Tensor) -> Tensor:
        found = dict(each for matrix, layout in zip(matrices, layouts) for each in layout.coefficients(matrix, bases))
        pieces, at = [], 0
        for start, piece in sorted(found.items(), key=lambda entry: entry[0]):
            pieces += [piece.new_zeros(start - at), piece] if start > at else [piece]
            at = start + len(piece)
        if count > at or not pieces:
            pieces.append(matrices[0].new_zeros(count - at))
        return concatenate(pieces, 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.bases, ctx.layouts, *_ = inputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return None, None, None, *_Assemble.apply(gradient, ctx.bases, ctx.layouts)


class EquivariantMatrix(nn.Module):
    """``forward()`` is W, (rows, columns) = ``maps.shape``; zero until ``set_nearest`` is called.

    ``components``: pairs of output and input summands that nothing else is connected with, as even and odd tensors of O(n).
    """

    bases: Tensor

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
        self._full = (tuple(range(outputs)), tuple(range(inputs)))
        self._layouts: dict[tuple[tuple[int, ...], tuple[int, ...]], _Layout] = {}
        links = [divmod(at, inputs) for at, tiles in enumerate(self._tiles) if tiles.rank]
        self.components = connected_components(outputs, inputs, links)

    def forward(self) -> Tensor:
        return self.assemble([self._full])[0]

    def assemble(self, components: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[Tensor]:
        """W between these output and input summands, dense."""
        for component in components:
            if component not in self._layouts:
                self._layouts[component] = self._layout(*component)
        layouts = [self._layouts[component] for component in components]
        return list(_Assemble.apply(self.coefficients, self._split_bases(self.coefficients.dtype), layouts))

    def _layout(self, outputs: tuple[int, ...], inputs: tuple[int, ...]) -> "_Layout":
        """Where the tiles of the chosen summands are in their matrix and in the coefficients."""
        width, starts = len(self._full[1]), [0, *accumulate(tiles.count for tiles in self._tiles)]
        places, row, column = [], 0, 0
        for output in outputs:
            column = 0
            for entry in inputs:
                tiles = self._tiles[output * width + entry]
                if tiles.rank:
                    places.append((tiles, row, column, starts[output * width + entry]))
                column += tiles.block.input_copies * tiles.block.shape[1]
            row += tiles.block.output_copies * tiles.block.shape[0]
        return _Layout((row, column), tuple(places))

    @torch.no_grad()
    def set_nearest(self, matrix: Tensor) -> None:
        """Make W the orthogonal projection Q Q^T of a matrix of its shape."""
        bases, exact = self._split_bases(torch.float64), matrix.double()
        parts = [
            (tiles.window(exact, tiles.block.row, tiles.block.column).flatten(2) @ bases[tiles.basis].mT).reshape(-1)
            / self._scales[tiles.basis] ** 2
            for tiles in self._tiles
        ]
        self.coefficients.copy_(torch.cat(parts))

    def squared_scales(self) -> Tensor:
        """t^2 of each coefficient, (rank,): |W|^2 is the sum of t^2 c^2."""
        counts = torch.tensor([tiles.count for tiles in self._tiles], device="cpu")
        scales = torch.tensor([self._scales[tiles.basis] for tiles in self._tiles], dtype=torch.float64, device="cpu")
        return scales.square().repeat_interleave(counts).to(self.coefficients.device)

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


def _scaled(basis: Basis, limit_bytes: int) -> tuple[Tensor, float]:
    """t Q^T, (rank, size), and t."""
    columns = basis.dense(limit_bytes)
    if not basis.rank:
        return columns.mT.contiguous(), 1.0
    reachable = int((columns.abs().amax(dim=1) > _ZERO_ENTRY).sum())
    scale = (reachable / basis.rank) ** 0.5
    scaled = scale * columns.mT
    return (scaled.abs() if scaled.numel() == 1 else scaled).contiguous(), scale  # a single entry is 1
