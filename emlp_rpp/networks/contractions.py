"""Which tensors of the input can be read as maps between which others: the plan of a bilinear layer, from the types alone.

A tensor z of type t is a map i -> o if o (x) i* has the factors of t in some order (thesis, section 2.6).
Two ways to compute sum_(d, k) w[c, d, k] z_k x_d for the b copies c, the a copies d and n drawn tensors z_k:

    mix first         u_(c, k) = sum_d w[c, d, k] x_d, then sum_k z_k u_(c, k)     a b n s_i mixing, b n s_i s_o contracting
    contract first    p_(d, k) = z_k x_d, then sum_(d, k) w[c, d, k] p_(d, k)      a b n s_o mixing, a n s_i s_o contracting

with s_i, s_o the sizes of the tensors; neither forms the (rows, columns) matrix of a sample. Mixing is one large matrix
product; contracting is done sample by sample and costs more for each multiplication.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from emlp_rpp.representations import Representation
from emlp_rpp.representations.representation import canonical_order, term_size

_PRICE = 8  # of a multiplication of contracting, in multiplications of mixing


@dataclass(frozen=True)
class Contraction:
    """``kind``, ``input``, ``output``: the summands of z, x and y by number; ``axes`` brings z into the order (o, i*)."""

    kind: int
    input: int
    output: int
    drawn: int
    input_copies: int
    output_copies: int
    input_size: int
    output_size: int
    sizes: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def mixes_first(self) -> bool:
        a, b, s_i, s_o = self.input_copies, self.output_copies, self.input_size, self.output_size
        return b * s_i * (a + _PRICE * s_o) < a * s_o * (b + _PRICE * s_i)

    @property
    def count(self) -> int:
        """Weights."""
        return self.output_copies * self.input_copies * self.drawn

    def as_maps(self, tensors: Tensor) -> Tensor:
        """(drawn, size, batch) -> (drawn, 1, output_size, input_size, batch)."""
        if not self._in_order:
            tensors = tensors.view(self.drawn, *self.sizes, -1).permute(self._forth)
        return tensors.reshape(self.drawn, 1, self.output_size, self.input_size, -1)

    def as_tensors(self, maps: Tensor) -> Tensor:
        """(drawn, output_size, input_size, batch) -> (drawn, size, batch)."""
        if self._in_order:
            return maps.flatten(1, 2)
        return maps.reshape(len(maps), *(self.sizes[axis] for axis in self.axes), -1).permute(self._back).flatten(1, -2)

    @cached_property
    def _in_order(self) -> bool:
        return self.axes == tuple(range(len(self.axes)))

    @cached_property
    def _forth(self) -> tuple[int, ...]:
        """The order of all axes, the first for the drawn tensors and the last for the batch."""
        return (0, *(1 + axis for axis in self.axes), 1 + len(self.axes))

    @cached_property
    def _back(self) -> tuple[int, ...]:
        return tuple(sorted(range(len(self._forth)), key=lambda at: self._forth[at]))


def count_drawn(copies: int, size: int) -> int:
    """How many of the copies of a type serve as maps: more than its size would be dependent."""
    return min(copies, size)


def draw_copies(representation: Representation, seed: int) -> list[Tensor]:
    """For each summand the copies that serve as maps, in increasing order; the same in every process."""
    chosen = []
    for number, (copies, term) in enumerate(representation.summands):
        generator = torch.Generator().manual_seed(1_000_003 * seed + number)
        drawn = torch.randperm(copies, generator=generator)[: count_drawn(copies, term_size(term))]
        chosen.append(drawn.sort().values)
    return chosen


def find_contractions(source: Representation, target: Representation) -> Iterator[Contraction]:
    """All contractions between representations in canonical form; scalars are no maps, since the linear layer has them."""
    kinds = {term: number for number, (_, term) in enumerate(source.summands)}
    for output, (output_copies, out_term) in enumerate(target.summands):
        for entry, (input_copies, in_term) in enumerate(source.summands):
            term = (*out_term, *(atom.dual for atom in in_term))
            order = canonical_order(term)
            kind = kinds.get(tuple(term[i] for i in order))
            if not term or kind is None:
                continue
            yield Contraction(
                kind,
                entry,
                output,
                count_drawn(source.summands[kind][0], term_size(term)),
                input_copies,
                output_copies,
                term_size(in_term),
                term_size(out_term),
                tuple(term[i].size for i in order),
                tuple(sorted(range(len(order)), key=lambda at: order[at])),
            )
