"""The RPP-EMLP (thesis, section 3.4): an EMLP whose layers have residual pathways,

    h = (A + B) x + a + b,    x' = Gated(h + Bilinear(h)) + w swish(h),

and a linear layer (A + B) x + a + b to the output. A, a are equivariant and have variance sigma_a^2, as have the weights of
the bilinear layer; B, b and w (footnote 1) have variance sigma_b^2. The gates of h are no inputs of the swish. Where B, b
are equivariant under a subgroup there is no swish, and the network is equivariant under the subgroup.

Without residual variance this is an EMLP; without equivariant variance, x' = swish(B x + b), it is an MLP.
Layout: (..., rep_in.size) -> (..., rep_out.size).
"""

from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from emlp_rpp.groups import Group
from emlp_rpp.networks.allocation import uniform_allocation
from emlp_rpp.networks.bilinear import Bilinear
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.networks.gated import Gated
from emlp_rpp.networks.parts import Parts, join_parts, split_parts
from emlp_rpp.pathways.linear import PathwayLinear
from emlp_rpp.pathways.prior import PathwayPrior
from emlp_rpp.pathways.residual import RESIDUAL_START
from emlp_rpp.representations import Representation
from emlp_rpp.solver import Options, Solutions
from symlab.errors import ConfigError


class PathwayBlock(nn.Module):
    """One hidden layer, ``rep_out`` in canonical order."""

    def __init__(
        self,
        rep_in: Representation,
        rep_out: Representation,
        prior: PathwayPrior,
        *,
        seed: int = 0,
        subgroup: Group | None = None,
        solutions: Solutions | None = None,
    ):
        super().__init__()
        self.prior, self.rep_in, self.rep_out = prior, rep_in, rep_out.canonical
        self.gate = Gated(self.rep_out) if prior.has_equivariant else None
        target = self.rep_out if self.gate is None else self.gate.rep_in
        self.linear = PathwayLinear(rep_in, target, prior, subgroup=subgroup, solutions=solutions)
        self.bilinear: Bilinear | None = None
        if self.gate is not None:
            bilinear = Bilinear(target, target, seed=seed, allow_empty=True)
            self.bilinear = bilinear if bilinear.rank else None
        mixes = self.gate is not None and prior.has_residual and subgroup is None  # a swish would break the subgroup
        self.swish_weight = nn.Parameter(torch.tensor(RESIDUAL_START)) if mixes else None

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.rep_in)
        return join_parts(self.forward_parts(split_parts(x, self.rep_in)), x)

    def forward_parts(self, parts: Parts) -> Parts:
        h = self.linear.forward_parts(parts)
        if self.gate is None:
            return [functional.silu(part) for part in h]
        h = h if self.bilinear is None else self.bilinear.add_to(h, h)
        gated = self.gate.forward_parts(h)
        if self.swish_weight is None:
            return gated
        return [own + self.swish_weight * functional.silu(part) for own, part in zip(gated, self._without_gates(h))]

    def _without_gates(self, h: Parts) -> Parts:
        """The parts that the gates act on; gates and scalars that follow them are one part."""
        assert self.gate is not None
        if not self.gate.gates:
            return h
        rest = h[0][self.gate.gates :]
        return [rest, *h[1:]] if len(rest) else h[1:]

    def learning_rate_factors(self) -> dict[str, float]:
        return {} if self.swish_weight is None else {"swish_weight": self.prior.residual_rate}

    def negative_log_prior(self) -> Tensor:
        """Of the block's own weights; its linear layer has its own."""
        terms = [torch.zeros((), device=next(self.parameters()).device)]
        if self.bilinear is not None:
            terms.append(self.bilinear.weights.square().sum() / (2 * self.prior.equivariant_variance))
        if self.swish_weight is not None:
            terms.append(self.swish_weight.square() / (2 * self.prior.residual_variance))
        return sum(terms[1:], terms[0])


class PathwayEMLP(nn.Module):
    """Arguments as of ``networks.EMLP``. ``subgroup``: the symmetry that is kept exactly, None for none."""

    def __init__(
        self,
        rep_in: Representation,
        rep_out: Representation,
        channels: int | Representation = 384,
        layers: int = 3,
        prior: PathwayPrior | None = None,
        *,
        subgroup: Group | None = None,
        seed: int = 0,
        options: Options | None = None,
    ):
        super().__init__()
        self.rep_in, self.rep_out = check_representation(rep_in, "rep_in"), check_representation(rep_out, "rep_out")
        rep_in._with(rep_out)
        if layers < 0:
            raise ConfigError(f"{layers} layers do not fit: from 0 on")
        self.prior = prior or PathwayPrior()
        hidden = uniform_allocation(channels, rep_in.group) if isinstance(channels, int) else channels
        self.hidden = check_representation(hidden, "channels").canonical
        solutions = Solutions(options)
        steps = [rep_in, *[self.hidden] * layers]
        self.blocks = nn.ModuleList(
            PathwayBlock(a, b, self.prior, seed=seed + at, subgroup=subgroup, solutions=solutions)
            for at, (a, b) in enumerate(pairwise(steps))
        )
        self.output = PathwayLinear(steps[-1], rep_out, self.prior, subgroup=subgroup, solutions=solutions)

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.rep_in)
        parts = split_parts(x, self.rep_in)
        for block in self.blocks:
            parts = cast(PathwayBlock, block).forward_parts(parts)
        return join_parts(self.output.forward_parts(parts), x)
