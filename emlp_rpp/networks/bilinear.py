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

from emlp_rpp.errors import EmptyMapError
from emlp_rpp.networks.bilinear_sum import BilinearSteps, ContractionGroup, add_bilinear
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.networks.contractions import Contraction, draw_copies, find_contractions
from emlp_rpp.networks.parts import Parts, join_parts, part_shapes, split_parts
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
        self._outputs = part_shapes(target)
        contractions = list(find_contractions(self._source, target))
        if not contractions and not allow_empty:
            raise EmptyMapError(
                f"no bilinear map {rep_in} -> {rep_out} for {rep_in.group}: no tensor of the input is a map between "
                "types of input and output; add tensors of other ranks"
            )
        # scalars share one large product; joining the rows of larger tensors would copy more than it saves
        contracted = [(each.output if each.output_size == 1 else -at, each) for at, each in enumerate(contractions, 1)]
        mixed = [(each.input if each.input_size == 1 else -at, each) for at, each in enumerate(contractions, 1)]
        groups = _group(((key, each) for key, each in contracted if not each.mixes_first), mixed=False, start=0)
        start = sum(group.count for group in groups)
        groups += _group(((key, each) for key, each in mixed if each.mixes_first), mixed=True, start=start)
        self._all = BilinearSteps(groups)
        self._parts_of_all: dict[frozenset[int], BilinearSteps] = {}  # by the outputs that are wanted
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
        zeros: Parts = [x.new_zeros(*shape, parts[0].shape[2]) for shape in self._outputs]
        y = join_parts(self.add_to(zeros, parts), x)
        return y if self.order_out is None else y.index_select(-1, self.order_out)

    def add_to(self, results: Parts, parts: Parts, wanted: Collection[int] | None = None) -> Parts:
        """Parts of the canonical rep_out plus the layer's, from parts of the canonical rep_in; nothing is added to summands
        that are not ``wanted``."""
        steps = self._steps(wanted)
        if not steps.groups:
            return list(results)
        maps = {kind: self._maps(kind, parts[kind]) for kind in steps.kinds}
        return add_bilinear(steps, _SCALE * self.weights, results, parts, maps)

    def _steps(self, wanted: Collection[int] | None) -> BilinearSteps:
        if wanted is None:
            return self._all
        key = frozenset(wanted)
        if key not in self._parts_of_all:
            self._parts_of_all[key] = BilinearSteps([part for group in self._all.groups for part in group.wanted(key)])
        return self._parts_of_all[key]

    def _maps(self, kind: int, part: Tensor) -> Tensor:
        """The tensors that serve as maps, (drawn, size, batch)."""
        if self._drawn_counts[kind] == len(part):
            return part
        return part.index_select(0, self.drawn.split(self._drawn_counts)[kind])


def _group(keyed: Iterable[tuple[int, Contraction]], mixed: bool, start: int) -> list[ContractionGroup]:
    found: dict[int, list[Contraction]] = {}
    for key, each in keyed:
        found.setdefault(key, []).append(each)
    groups = []
    for members in found.values():
        groups.append(ContractionGroup(tuple(members), mixed, start))
        start += groups[-1].count
    return groups


def _unless_sorted(permutation: Tensor) -> Tensor | None:
    return None if torch.equal(permutation, torch.arange(len(permutation))) else permutation
