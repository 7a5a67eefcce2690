"""Equivariant linear maps between sums: W (out.size, in.size) = sum of blocks, each a combination of its basis.

Coefficients are ordered block by block (``Maps.blocks``), inside a block (output copy, input copy, basis element).
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from emlp_rpp.errors import EmptyMapError
from emlp_rpp.representations.maps import Block, Maps
from emlp_rpp.representations.representation import Term
from emlp_rpp.solver.basis import Basis
from emlp_rpp.solver.dispatch import Options, solve_term


class MapBasis:
    """``entries``: every pair of summands with the basis of its maps, (rows * columns, rank) each."""

    def __init__(self, maps: Maps, entries: list[tuple[Block, Basis]]):
        self.maps, self.entries = maps, entries
        self.rank = sum(block.output_copies * block.input_copies * basis.rank for block, basis in entries)

    def __iter__(self) -> Iterator[tuple[Block, Basis]]:
        return iter(self.entries)

    def combine(self, coefficients: Tensor) -> Tensor:
        """(rank,) -> (out.size, in.size)."""
        matrix = coefficients.new_zeros(self.maps.shape)
        at = 0
        for block, basis in self.entries:
            count = block.output_copies * block.input_copies
            own = coefficients[at : at + count * basis.rank].reshape(count, basis.rank)
            self._window(matrix, block).copy_(self._spread(basis.combine(own), block))
            at += count * basis.rank
        return matrix

    def coefficients(self, matrix: Tensor) -> Tensor:
        """(out.size, in.size) -> (rank,): of the nearest equivariant map."""
        parts = []
        for block, basis in self.entries:
            rows, columns = block.shape
            tiles = self._window(matrix, block).reshape(block.output_copies, rows, block.input_copies, columns)
            flat = tiles.transpose(1, 2).reshape(-1, rows * columns)
            parts.append(basis.coefficients(flat).reshape(-1))
        return torch.cat(parts) if parts else matrix.new_zeros(0)

    def project(self, matrix: Tensor) -> Tensor:
        """The nearest equivariant map."""
        return self.combine(self.coefficients(matrix))

    @staticmethod
    def _window(matrix: Tensor, block: Block) -> Tensor:
        rows, columns = block.shape
        row_end = block.row + block.output_copies * rows
        return matrix[block.row : row_end, block.column : block.column + block.input_copies * columns]

    @staticmethod
    def _spread(tiles: Tensor, block: Block) -> Tensor:
        rows, columns = block.shape
        shaped = tiles.reshape(block.output_copies, block.input_copies, rows, columns)
        return shaped.transpose(1, 2).reshape(block.output_copies * rows, block.input_copies * columns)


def equivariant_maps(maps: Maps, options: Options | None = None, allow_empty: bool = False) -> MapBasis:
    """All equivariant maps; an EmptyMapError where only zero is one, unless ``allow_empty``."""
    solved: dict[Term, Basis] = {}
    entries = []
    for block in maps.blocks():
        if block.term not in solved:
            solved[block.term] = solve_term(block.term, options)
        entries.append((block, solved[block.term]))
    basis = MapBasis(maps, entries)
    if basis.rank == 0 and not allow_empty:
        raise refuse_empty(maps)
    return basis


def refuse_empty(maps: Maps) -> EmptyMapError:
    return EmptyMapError(
        f"no equivariant map {maps.source} -> {maps.target} for {maps.group_name} is linear except zero: use the "
        "bilinear layer, or tensors of higher rank"
    )
