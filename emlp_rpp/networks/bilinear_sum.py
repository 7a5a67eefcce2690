"""The sum of a bilinear layer and its gradient. Contractions that share a weight matrix W are a group:

    contracted    into one output o,       y_o += W p,                    p_(k, d) = z_k x_d,   W (b, sum of drawn * a)
    mixed         of one input x,          y_o += sum_k z_k u_(k, c),     u = W x,              W (sum of drawn * b, a)

With g the gradient of y_o, those of the other tensors are sums of the same two kinds:

    contracted    dW = g p^T,   dp = W^T g,   dz_k = sum_d dp_(k, d) x_d^T,   dx_d = sum_k z_k^T dp_(k, d)
    mixed         dz_k = sum_c g_c u_(k, c)^T,   du_(k, c) = z_k^T g_c,   dW = du x^T,   dx = W^T du

They are written by hand for large batches, where they save a graph of many small steps and its copies; small ones are left
to autograd. The backward pass is made of differentiable functions and can be differentiated itself; p and u are then
computed anew from what they depend on.

Layout: parts (copies, size, batch); what a sample adds has the axes (drawn, copies, output size, input size, batch).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from emlp_rpp.networks.contractions import Contraction
from emlp_rpp.networks.parts import Parts, concatenate
from emlp_rpp.networks.small_products import sum_products
from symlab.signatures import with_signature

_LARGE_BATCH = 200

Named = dict[int, Tensor]  # by the number of a summand


@dataclass(frozen=True)
class ContractionGroup:
    """``start``: where its matrix begins in the weights of the layer."""

    members: tuple[Contraction, ...]
    mixed: bool
    start: int

    @cached_property
    def count(self) -> int:
        return sum(each.count for each in self.members)

    def matrix(self, weights: Tensor) -> Tensor:
        shape = (-1, self.members[0].input_copies) if self.mixed else (self.members[0].output_copies, -1)
        return weights[self.start : self.start + self.count].view(shape)

    def wanted(self, outputs: Collection[int]) -> Iterator["ContractionGroup"]:
        """What adds to these outputs, as groups of neighbours."""
        start = self.start
        for needed, run in groupby(self.members, lambda each: each.output in outputs):
            group = ContractionGroup(tuple(run), self.mixed, start)
            start += group.count
            if needed:
                yield group

    def inner(self, matrix: Tensor, parts: Named, maps: Named) -> Tensor:
        """p or u, (rows, size, batch)."""
        if self.mixed:
            return _multiply(matrix, parts[self.members[0].input])
        return concatenate([_apply(each, maps[each.kind], parts[each.input]) for each in self.members], 0)

    def add(self, totals: Named, matrix: Tensor, inner: Tensor, maps: Named) -> None:
        """Replaces the entries of ``totals``."""
        if not self.mixed:
            total = totals[self.members[0].output]
            totals[self.members[0].output] = torch.addmm(total.flatten(1), matrix, inner.flatten(1)).view(total.shape)
            return
        for each, u in zip(self.members, self._pieces(inner)):
            totals[each.output] = totals[each.output] + sum_products(each.as_maps(maps[each.kind]), u, (0, 3))

    def backward(
        self, g: Named, matrix: Tensor, inner: Tensor, parts: Named, maps: Named, of_parts: Named, of_maps: Named
    ) -> Tensor:
        """The gradient of the matrix, flat; those of parts and maps are added to ``of_parts`` and ``of_maps``."""
        if self.mixed:
            changes = []
            for each, u in zip(self.members, self._pieces(inner)):
                z, gradient = each.as_maps(maps[each.kind]), _outer(g[each.output])
                _accumulate(of_maps, each.kind, each.as_tensors(sum_products(gradient, u, (1,))))
                changes.append(sum_products(gradient, z, (2,)).flatten(0, 1))
            entry, change = self.members[0].input, concatenate(changes, 0)
            _accumulate(of_parts, entry, _multiply(matrix.mT, change))
            return (change.flatten(1) @ parts[entry].flatten(1).mT).flatten()
        gradient = g[self.members[0].output]
        for each, change in zip(self.members, self._pieces(_multiply(matrix.mT, gradient))):
            z, x = each.as_maps(maps[each.kind]), _inner(parts[each.input])
            _accumulate(of_maps, each.kind, each.as_tensors(sum_products(change, x, (1,))))
            _accumulate(of_parts, each.input, sum_products(change, z, (0, 2)))
        return (gradient.flatten(1) @ inner.flatten(1).mT).flatten()

    def _pieces(self, rows: Tensor) -> list[Tensor]:
        """The rows of each member: u (drawn, b, 1, s_i, batch) or p (drawn, a, s_o, 1, batch)."""
        pieces = rows.split(self._rows) if len(self._rows) > 1 else [rows]
        return [piece.view(shape) for piece, shape in zip(pieces, self._shapes)]

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        if self.mixed:
            return [(each.drawn, each.output_copies, 1, each.input_size, -1) for each in self.members]
        return [(each.drawn, each.input_copies, each.output_size, 1, -1) for each in self.members]

    @cached_property
    def _rows(self) -> list[int]:
        return [shape[0] * shape[1] for shape in self._shapes]


class BilinearSteps:
    """Groups, and which summands they write (``outputs``), read (``inputs``) and use as maps (``kinds``)."""

    def __init__(self, groups: Sequence[ContractionGroup]):
        self.groups = tuple(groups)
        members = [each for group in groups for each in group.members]
        self.outputs = sorted({each.output for each in members})
        self.inputs = sorted({each.input for each in members})
        self.kinds = sorted({each.kind for each in members})

    def name(self, tensors: Sequence[Tensor]) -> tuple[Named, Named, Named]:
        """Tensors for outputs, inputs and kinds, by summand."""
        following = iter(tensors)
        outputs, inputs, kinds = ({at: next(following) for at in each} for each in (self.outputs, self.inputs, self.kinds))
        return outputs, inputs, kinds


class _BilinearSum(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(steps: BilinearSteps, weights: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        """``tensors``: the results so far, the parts and the maps, as ``steps`` says. p and u follow the results."""
        totals, parts, maps = steps.name(tensors)
        inner = []
        for group in steps.groups:
            matrix = group.matrix(weights)
            inner.append(group.inner(matrix, parts, maps))
            group.add(totals, matrix, inner[-1], maps)
        return (*totals.values(), *inner)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.steps, weights, *tensors = inputs
        results = len(ctx.steps.outputs)
        ctx.mark_non_differentiable(*output[results:])
        ctx.set_materialize_grads(False)  # zeros in place of gradients of p and u would be the largest tensors of all
        ctx.shapes = [result.shape for result in output[:results]]
        ctx.save_for_backward(weights, *tensors[results:], *output[results:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        steps: BilinearSteps = ctx.steps
        weights, *saved = ctx.saved_tensors
        of_results = [
            weights.new_zeros(shape) if gradient is None else gradient for gradient, shape in zip(gradients, ctx.shapes)
        ]
        known = saved[len(steps.inputs) + len(steps.kinds) :]
        g, parts, maps = steps.name([*of_results, *saved])
        of_parts: Named = {}
        of_maps: Named = {}
        of_weights, at = [], 0
        for group, inner in zip(steps.groups, known):
            matrix = group.matrix(weights)
            if torch.is_grad_enabled():  # a second derivative may be asked for
                inner = group.inner(matrix, parts, maps)
            if group.start > at:
                of_weights.append(weights.new_zeros(group.start - at))
            of_weights.append(group.backward(g, matrix, inner, parts, maps, of_parts, of_maps))
            at = group.start + group.count
        if len(weights) > at:
            of_weights.append(weights.new_zeros(len(weights) - at))
        inputs = [*(of_parts[entry] for entry in steps.inputs), *(of_maps[kind] for kind in steps.kinds)]
        return None, torch.cat(of_weights), *of_results, *inputs


def add_bilinear(steps: BilinearSteps, weights: Tensor, results: Parts, parts: Parts, maps: Named) -> Parts:
    """Results plus the sums of all groups."""
    if parts[0].shape[-1] < _LARGE_BATCH:
        totals, sources = dict(enumerate(results)), dict(enumerate(parts))
        for group in steps.groups:
            matrix = group.matrix(weights)
            group.add(totals, matrix, group.inner(matrix, sources, maps), maps)
        return list(totals.values())
    chosen = [results[at] for at in steps.outputs] + [parts[at] for at in steps.inputs] + [maps[at] for at in steps.kinds]
    found = dict(zip(steps.outputs, _BilinearSum.apply(steps, weights, *chosen)))
    return [found.get(at, result) for at, result in enumerate(results)]


def _apply(each: Contraction, maps: Tensor, part: Tensor) -> Tensor:
    """z_k x_d, (drawn * a, s_o, batch)."""
    return sum_products(each.as_maps(maps), _inner(part), (3,)).flatten(0, 1)


def _inner(part: Tensor) -> Tensor:
    """(a, s_i, batch) -> (1, a, 1, s_i, batch)."""
    copies, size, batch = part.shape
    return part.view(1, copies, 1, size, batch)


def _outer(part: Tensor) -> Tensor:
    """(b, s_o, batch) -> (1, b, s_o, 1, batch)."""
    copies, size, batch = part.shape
    return part.reshape(1, copies, size, 1, batch)


def _multiply(matrix: Tensor, part: Tensor) -> Tensor:
    """Mix copies: (rows, copies), (copies, size, batch) -> (rows, size, batch)."""
    return (matrix @ part.flatten(1)).view(-1, *part.shape[1:])


def _accumulate(total: Named, key: int, value: Tensor) -> None:
    total[key] = total[key] + value if key in total else value
