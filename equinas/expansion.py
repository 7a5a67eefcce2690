"""The kernel of a G-equivariant layer as that of a standard convolution, by one index gather (Eqs. 1, 2 and 4, App. A).

With channels as in ``equinas.fibres`` (output d, g and input c, h, where g = g' t and h = h' s) a kernel psi gives

    regular   W[(d, g), (c, h)](y) = psi[(d, t), (c, s)](g'^-1 h', g'^-1 y)    psi (d |R|, c |R|, |G|, K, K)
    lifting   W[(d, g), c](y)      = psi[(d, t), c](g'^-1 y)                   psi (d |R|, c, K, K)

and W (d |W|, c |W| or c, K, K). Every entry of psi occurs |G| times in W, which makes the gradient a gather as well. Since W
depends on psi through its entries alone, the kernel of a subgroup that gives the same W (Eq. 4) is read off W.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from equinas.fibres import blocks, coset_of
from equinas.row_loops import collect, spread
from symlab.compiled import call, is_plain
from symlab.errors import ConfigError
from symlab.groups import Group, factor, inverse, multiply, pixel_sources, representatives


@dataclass(frozen=True)
class KernelShape:
    """``outputs`` and ``inputs`` count blocks of the whole group, or plain channels for the inputs of a lifting."""

    group: Group
    whole: Group
    outputs: int
    inputs: int
    kernel_size: int
    is_lifting: bool

    def __post_init__(self) -> None:
        representatives(self.group, self.whole)  # refuses what is no subgroup
        if self.kernel_size % 2 == 0:
            raise ConfigError(f"kernel_size={self.kernel_size} has no centre to turn about: choose an odd number")

    @staticmethod
    def lifting(
        group: Group, channels_in: int, channels_out: int, kernel_size: int, whole: Group | None = None
    ) -> "KernelShape":
        """From images (B, channels_in, H, H) to features (B, channels_out, H, H), channels of the whole group counted."""
        whole = group if whole is None else whole
        return KernelShape(group, whole, blocks(channels_out, whole), channels_in, kernel_size, True)

    @staticmethod
    def regular(
        group: Group, channels_in: int, channels_out: int, kernel_size: int, whole: Group | None = None
    ) -> "KernelShape":
        whole = group if whole is None else whole
        sizes = blocks(channels_out, whole), blocks(channels_in, whole)
        return KernelShape(group, whole, *sizes, kernel_size, False)

    @property
    def cosets(self) -> int:
        return len(self.whole) // len(self.group)

    @cached_property
    def weight(self) -> tuple[int, ...]:
        """Shape of psi."""
        square = (self.kernel_size, self.kernel_size)
        if self.is_lifting:
            return (self.outputs * self.cosets, self.inputs, *square)
        return (self.outputs * self.cosets, self.inputs * self.cosets, len(self.group), *square)

    @cached_property
    def expanded(self) -> tuple[int, int, int, int]:
        """Shape of W."""
        inputs = self.inputs if self.is_lifting else self.inputs * len(self.whole)
        return (self.outputs * len(self.whole), inputs, self.kernel_size, self.kernel_size)

    @cached_property
    def _rows(self) -> dict[torch.device, "Rows"]:
        return {}

    def rows(self, device: torch.device) -> "Rows":
        """Kept with the shape: to look them up by its contents would take as long as to expand a small kernel."""
        if device not in self._rows:
            self._rows[device] = _rows_of(self, device)
        return self._rows[device]

    def relaxed(self, subgroup: Group) -> "KernelShape":
        if not subgroup <= self.group:
            raise ConfigError(f"a layer of {self.group} cannot be relaxed to {subgroup}, which is no subgroup of it")
        return replace(self, group=subgroup)


def _on_cpu(numbers: Any) -> Tensor:
    """Indices are made on the CPU, whatever the default device is: on the meta device they would have no values."""
    return torch.tensor(numbers, device="cpu")


@dataclass(frozen=True)
class Rows:
    """How the rows of W follow from those of psi.

    With psi as (d, t, c, n) and W as (d, g, c, n), where n runs over (s, g', y) of a regular kernel and over y of a lifting,

        W[d, g, c, n] = psi[d, t(g), c, sources[g, n]],    psi[d, t(g), c, n] = W[d, g, c, places[g, n]]

    so that one permutation of n for each g serves all channels d and c: it stays in the innermost cache.

    Everything that a pass needs is made here once: a pass over a small kernel takes as long as ten calls from Python.
    """

    weight: tuple[int, ...]  # the shape of psi
    expanded: tuple[int, ...]  # the shape of W
    by_coset: tuple[int, ...]  # (d, cosets, c, n)
    by_element: tuple[int, ...]  # (d, |W|, c, n)
    cosets: Tensor  # (|W|,): t(g)
    members: Tensor  # (cosets, |G|): the g of each t
    sources: Tensor  # (|W|, n)
    places: Tensor  # (|W|, n): the inverse permutations

    @cached_property
    def unsigned(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Cosets, members, sources and places for compiled loops."""
        tensors = (self.cosets, self.members, self.sources, self.places)
        return tuple(each.numpy().astype(np.uint64) for each in tensors)  # type: ignore[return-value]


def _rows_of(shape: KernelShape, device: torch.device) -> Rows:
    group, whole, pixels = shape.group, shape.whole, shape.kernel_size**2
    parts = [factor(element, group, whole)[0] for element in whole.elements]
    coset = _on_cpu(coset_of(group, whole))
    sources = _on_cpu([pixel_sources(part, shape.kernel_size) for part in parts])  # (g, y)
    if not shape.is_lifting:
        relative = _on_cpu([[group.position(multiply(inverse(g), h)) for h in parts] for g in parts])  # (g, h)
        sources = ((coset * len(group) + relative)[..., None] * pixels + sources[:, None]).flatten(1)
    members = coset.argsort(stable=True).view(shape.cosets, len(group))
    by_element = (shape.outputs, len(whole), shape.inputs, sources.shape[1])
    by_coset = (shape.outputs, shape.cosets, *by_element[2:])
    tensors = (each.to(device) for each in (coset, members, sources, sources.argsort(1)))
    return Rows(shape.weight, shape.expanded, by_coset, by_element, *tensors)


def _spread(weight: Tensor, rows: Rows) -> Tensor:
    if is_plain(weight):
        cosets, _, sources, _ = rows.unsigned
        expanded = weight.new_empty(rows.expanded)
        call(spread, weight.contiguous().view(rows.by_coset), cosets, sources, expanded.view(rows.by_element))
        return expanded
    by_element = weight.reshape(rows.by_coset).index_select(1, rows.cosets)
    return by_element.gather(3, rows.sources[:, None].expand(rows.by_element)).view(rows.expanded)


def _collect(expanded: Tensor, rows: Rows) -> Tensor:
    """Gathers, too: what autograd knows as the derivative of a gather scatters, several times slower."""
    if is_plain(expanded):
        _, members, _, places = rows.unsigned
        weight = expanded.new_empty(rows.weight)
        call(collect, expanded.contiguous().view(rows.by_element), members, places, weight.view(rows.by_coset))
        return weight
    by_element = expanded.reshape(rows.by_element).gather(3, rows.places[:, None].expand(rows.by_element))
    by_coset = by_element.index_select(1, rows.members.flatten()).unflatten(1, rows.members.shape)
    return by_coset.sum(2).view(rows.weight)


class _Expand(torch.autograd.Function):
    """Linear, with ``_Collect`` as transpose, whose own graph is made only where somebody asks for it."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, rows: Rows) -> Tensor:
        ctx.rows = rows
        return _spread(weight, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return (_Collect.apply if torch.is_grad_enabled() else _collect)(gradient, ctx.rows), None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, expanded: Tensor, rows: Rows) -> Tensor:
        ctx.rows = rows
        return _collect(expanded, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return (_Expand.apply if torch.is_grad_enabled() else _spread)(gradient, ctx.rows), None


def expand(weight: Tensor, shape: KernelShape) -> Tensor:
    """psi -> W."""
    if len(shape.group) == 1:
        return weight.reshape(shape.expanded)  # nothing is shared, and the order is the same
    return _Expand.apply(weight, shape.rows(weight.device))


def relax_kernel(weight: Tensor, shape: KernelShape, subgroup: Group) -> Tensor:
    """psi~[(d, t), (c, s)](g') = psi[d, c](t^-1 g' s), Eq. 4: the subgroup's kernel with the same W."""
    target = shape.relaxed(subgroup)
    rows = target.rows(weight.device)
    first = rows.members[:, 0]
    expanded = expand(weight, shape).view(target.outputs, len(target.whole), target.inputs, -1)
    found = expanded.index_select(1, first)
    return found.gather(3, rows.places[first, None].expand(found.shape)).view(target.weight)
