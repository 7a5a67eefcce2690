"""Equivariant linear maps W: U_in -> U_out, W rho_in(g) = rho_out(g) W: the invariant elements of U_out (x) U_in*.

The matrix W (out.size, in.size) falls into blocks, one for each pair of an output and an input tensor; all blocks of one
pair of terms have one basis (thesis, section 2.4.1)."""

from collections.abc import Iterator
from dataclasses import dataclass

from emlp_rpp.representations.representation import Representation, Term, term_size


@dataclass(frozen=True)
class Block:
    """All blocks of one pair of summands: ``rows`` and ``columns`` say where the first copy begins."""

    output: Term
    input: Term
    output_copies: int
    input_copies: int
    row: int
    column: int

    @property
    def term(self) -> Term:
        """The tensor product whose invariant elements, as matrices of shape ``shape``, are the maps."""
        return (*self.output, *(atom.dual for atom in self.input))

    @property
    def shape(self) -> tuple[int, int]:
        return term_size(self.output), term_size(self.input)


@dataclass(frozen=True)
class Maps:
    source: Representation
    target: Representation

    @property
    def shape(self) -> tuple[int, int]:
        return self.target.size, self.source.size

    @property
    def group_name(self) -> str:
        return self.source.group.name

    def blocks(self) -> Iterator[Block]:
        row = 0
        for copies, output in self.target.summands:
            column = 0
            for input_copies, entry in self.source.summands:
                yield Block(output, entry, copies, input_copies, row, column)
                column += input_copies * term_size(entry)
            row += copies * term_size(output)

    def __repr__(self) -> str:
        return f"maps {self.source} >> {self.target} of {self.group_name}"
