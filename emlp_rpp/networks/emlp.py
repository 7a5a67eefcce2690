"""The equivariant multilayer perceptron (thesis, section 2.6, Figure 2.4): blocks of

    h = W x + b,    x' = Gated(h + Bilinear(h)),

and a linear layer to the output. Hidden layers share one representation, by default the uniform allocation of ``channels``.
Layout: (..., rep_in.size) -> (..., rep_out.size).
"""

from collections.abc import Collection
from itertools import pairwise
from typing import cast

from torch import Tensor, nn

from emlp_rpp.errors import EmptyMapError
from emlp_rpp.networks.allocation import uniform_allocation
from emlp_rpp.networks.bilinear import Bilinear
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.networks.gated import Gated
from emlp_rpp.networks.linear import EquivariantLinear
from emlp_rpp.networks.parts import Parts, join_parts, split_parts
from emlp_rpp.representations import Representation
from emlp_rpp.representations.representation import term_name
from emlp_rpp.solver import Options, Solutions
from symlab.errors import ConfigError


class EquivariantBlock(nn.Module):
    """One hidden layer, ``rep_out`` in canonical order; without a bilinear part where no tensor can be read as a map."""

    def __init__(self, rep_in: Representation, rep_out: Representation, *, seed: int, solutions: Solutions):
        super().__init__()
        self.gate = Gated(rep_out.canonical)
        self.linear = EquivariantLinear(rep_in, self.gate.rep_in, solutions=solutions)
        bilinear = Bilinear(self.gate.rep_in, self.gate.rep_in, seed=seed, allow_empty=True)
        self.bilinear = bilinear if bilinear.rank else None
        self._shift = len(self.gate.rep_in.summands) - len(self.gate.rep_out.summands)  # 1 where gates stand alone

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.linear.rep_in)
        return join_parts(self.forward_parts(split_parts(x, self.linear.rep_in)), x)

    def forward_parts(self, parts: Parts, read: Collection[int] | None = None) -> Parts:
        """``read``: the summands of rep_out that the next layer reads, if not all; the others are not complete."""
        h = self.linear.forward_parts(parts)
        if self.bilinear is None:
            return self.gate.forward_parts(h)
        wanted = None if read is None else {0, *(at + self._shift for at in read)}  # 0: the gates
        return self.gate.forward_parts(self.bilinear.add_to(h, h, wanted))


class EMLP(nn.Module):
    """``channels``: the size of the hidden layers, or their representation. ``layers``: how many there are. ``seed``: which
    tensors the bilinear layers use as maps; parameters are drawn from torch's own generator."""

    def __init__(
        self,
        rep_in: Representation,
        rep_out: Representation,
        channels: int | Representation = 384,
        layers: int = 3,
        *,
        seed: int = 0,
        options: Options | None = None,
    ):
        super().__init__()
        self.rep_in, self.rep_out = check_representation(rep_in, "rep_in"), check_representation(rep_out, "rep_out")
        rep_in._with(rep_out)
        if layers < 0:
            raise ConfigError(f"{layers} layers do not fit: from 0 on")
        hidden = uniform_allocation(channels, rep_in.group) if isinstance(channels, int) else channels
        self.hidden = check_representation(hidden, "channels").canonical
        solutions = Solutions(options)
        steps = [rep_in, *[self.hidden] * layers]
        blocks = [EquivariantBlock(a, b, seed=seed + at, solutions=solutions) for at, (a, b) in enumerate(pairwise(steps))]
        self.blocks = nn.ModuleList(blocks)
        self.output = EquivariantLinear(steps[-1], rep_out, solutions=solutions)
        self._read = {entry for _, inputs in self.output.weight.components for entry in inputs}
        self._check_connections(blocks[0].linear if blocks else self.output)

    def _check_connections(self, first: EquivariantLinear) -> None:
        """No tensor of the input may be ignored, none of the output may be constant whatever the weights."""
        read = {entry for _, inputs in first.weight.components for entry in inputs}
        ignored = [term for at, (_, term) in enumerate(self.rep_in.summands) if at not in read]
        constant = [outputs[0] for outputs, inputs in self.output.weight.components if not inputs]
        unreached = [self.rep_out.summands[at][1] for at in constant]
        for term, what in (*((term, "is ignored") for term in ignored), *((term, "is constant") for term in unreached)):
            raise EmptyMapError(
                f"{term_name(term)} of {self.rep_in.group} {what}: no equivariant map between it and the hidden layers "
                f"{self.hidden} is linear; take more channels or pass a representation with tensors of higher rank"
            )

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.rep_in)
        parts = split_parts(x, self.rep_in)
        for at, block in enumerate(self.blocks, 1):
            read = self._read if at == len(self.blocks) else None
            parts = cast(EquivariantBlock, block).forward_parts(parts, read)
        return join_parts(self.output.forward_parts(parts), x)
