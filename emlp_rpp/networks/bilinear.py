"""The bilinear layer: tensors of the input, read as linear maps, are applied to the other tensors of the input.

    y_c = 0.1 sum_(contractions) sum_(d, k) w[c, d, k] Reshape(z_k) x_d      (thesis, section 2.6)

z_k runs over min(copies, size) drawn tensors of each type but scalars, w is normal at the start. The sum is never written as
a matrix for each sample: weights mix copies in one product for all tensors, and small products contract indices
(``contractions`` says in which order).

Layout: (..., rep_in.size) -> (..., rep_out.size); ``weights`` holds one matrix (output copies, sum of drawn * input copies)
for each group of contractions that come first, then one matrix (sum of drawn * output copies, input copies) for each group
that mixes first; a group is one contraction, or all those into scalars, or all those of scalars.
"""

from collections.abc import Collection, Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from emlp_rpp.errors import EmptyMapError
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.networks.contractions import Contraction, draw_copies, find_contractions
from emlp_rpp.networks.parts import Parts, concatenate, join_parts, part_shapes, split_parts
from emlp_rpp.networks.small_products import multiply_each
from emlp_rpp.representations import Representation

_SCALE = 0.1


class Bilinear(nn.Module):
    """``seed`` decides which tensors serve as maps. An EmptyMapError where no tensor can, unless ``allow_empty``."""

    drawn: Tensor
    order_in: Tensor | None
    order_out: Tensor | None

    def __init__(self, rep_in: Representation, rep_out: Representation, *, seed: int = 0, allow_empty: bool = False):
        super().__init__()
        self.rep_in, self.rep_out = check_representation(rep_in, "rep_in"), check_representation(rep_out, "rep_out")
        self._source, target = rep_in.canonical, (rep_in >> rep_out).target.canonical
        self._inputs, self._outputs = part_shapes(self._source), part_shapes(target)
        contractions = list(find_contractions(self._source, target))
        if not contractions and not allow_empty:
            raise EmptyMapError(
                f"no bilinear map {rep_in} -> {rep_out} for {rep_in.group}: no tensor of the input is a map between "
                "types of input and output; add tensors of other ranks"
            )
        # scalars share one large product; joining the rows of larger tensors would copy more than it saves
        contracted = [(each.output if each.output_size == 1 else -at, each) for at, each in enumerate(contractions, 1)]
        mixed = [(each.input if each.input_size == 1 else -at, each) for at, each in enumerate(contractions, 1)]
        self._contracted = _group((key, each) for key, each in contracted if not each.mixes_first)
        self._mixed = _group((key, each) for key, each in mixed if each.mixes_first)
        self._weight_sizes = [sum(each.count for each in group) for group in (*self._contracted, *self._mixed)]
        self._kinds = sorted({each.kind for each in contractions})
        self.rank = sum(each.count for each in contractions)
        self.weights = nn.Parameter(torch.randn(self.rank))
        drawn = draw_copies(self._source, seed)
        self._drawn_counts = [len(each) for each in drawn]
        self.register_buffer("drawn", torch.cat(drawn))
        permutations = [torch.as_tensor(each.canonical_permutation) for each in (rep_in, rep_out)]
        self.register_buffer("order_in", _unless_sorted(permutations[0]), persistent=False)
        self.register_buffer("order_out", _unless_sorted(permutations[1].argsort()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.rep_in)
        ordered = x if self.order_in is None else x.index_select(-1, self.order_in)
        parts = split_parts(ordered, self._source)
        zeros: Parts = [x.new_zeros(len(parts[0]), *shape) for shape in self._outputs]
        y = join_parts(self.add_to(zeros, parts), x)
        return y if self.order_out is None else y.index_select(-1, self.order_out)

    def add_to(self, results: Parts, parts: Parts, wanted: Collection[int] | None = None) -> Parts:
        """Parts of the canonical rep_out plus the layer's, from parts of the canonical rep_in; nothing is added to summands
        that are not ``wanted``."""
        needed = range(len(results)) if wanted is None else wanted
        matrices = iter((_SCALE * self.weights).split(self._weight_sizes))
        maps, total = self._maps(parts), list(results)
        for group in self._contracted:
            first, block = group[0], next(matrices)
            if first.output not in needed:
                continue
            p = concatenate([_contract(each, parts, maps) for each in group], 2)
            weights, sum_so_far = block.view(first.output_copies, -1), total[first.output]
            if first.output_size == 1:
                total[first.output] = torch.addmm(sum_so_far.squeeze(1), p.squeeze(1), weights.mT).unsqueeze(1)
            else:
                total[first.output] = sum_so_far + functional.linear(p, weights)
        for group in self._mixed:
            first, block = group[0], next(matrices)
            if all(each.output not in needed for each in group):
                continue
            mixed = functional.linear(parts[first.input], block.view(-1, first.input_copies))
            for each, u in zip(group, mixed.split([each.drawn * each.output_copies for each in group], dim=2)):
                if each.output in needed:
                    total[each.output] = total[each.output] + _apply_maps(each, u, maps)
        return total

    def _maps(self, parts: Parts) -> dict[int, Tensor]:
        """The drawn tensors of each type that is used, (batch, size, drawn)."""
        drawn = self.drawn.split(self._drawn_counts)
        every = {kind for kind in self._kinds if self._drawn_counts[kind] == self._inputs[kind][1]}
        return {kind: parts[kind] if kind in every else parts[kind].index_select(2, drawn[kind]) for kind in self._kinds}


def _group(keyed: Iterable[tuple[int, Contraction]]) -> list[list[Contraction]]:
    groups: dict[int, list[Contraction]] = {}
    for key, each in keyed:
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _contract(each: Contraction, parts: Parts, maps: dict[int, Tensor]) -> Tensor:
    """p_(k, d) = z_k x_d, (batch, s_o, drawn * input copies)."""
    z = each.as_maps(maps[each.kind]).transpose(2, 3).flatten(1, 2)  # (batch, s_o * drawn, s_i)
    return multiply_each(z, parts[each.input]).unflatten(1, (each.output_size, each.drawn)).flatten(2)


def _apply_maps(each: Contraction, mixed: Tensor, maps: dict[int, Tensor]) -> Tensor:
    """sum_k z_k u_(k, c) of u (batch, s_i, drawn * output copies): (batch, s_o, output copies)."""
    z = each.as_maps(maps[each.kind]).flatten(2)  # (batch, s_o, s_i * drawn)
    return multiply_each(z, mixed.reshape(len(mixed), each.input_size * each.drawn, each.output_copies))


def _unless_sorted(permutation: Tensor) -> Tensor | None:
    return None if torch.equal(permutation, torch.arange(len(permutation))) else permutation
