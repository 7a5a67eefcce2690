"""The kernel of a G-equivariant layer as that of a standard convolution, by one index gather (Eqs. 1, 2 and 4, App. A).

With channels as in ``equinas.fibres`` (output d, g and input c, h, where g = g' t and h = h' s) a kernel psi gives

    regular   W[(d, g), (c, h)](y) = psi[(d, t), (c, s)](g'^-1 h', g'^-1 y)    psi (d |R|, c |R|, |G|, K, K)
    lifting   W[(d, g), c](y)      = psi[(d, t), c](g'^-1 y)                   psi (d |R|, c, K, K)

and W (d |W|, c |W| or c, K, K). Every entry of psi occurs |G| times in W, which makes the gradient a gather as well. Since W
depends on psi through its entries alone, the kernel of a subgroup that gives the same W (Eq. 4) is read off W.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from equinas.fibres import blocks, coset_of
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

    @property
    def weight(self) -> tuple[int, ...]:
        """Shape of psi."""
        square = (self.kernel_size, self.kernel_size)
        if self.is_lifting:
            return (self.outputs * self.cosets, self.inputs, *square)
        return (self.outputs * self.cosets, self.inputs * self.cosets, len(self.group), *square)

    @property
    def expanded(self) -> tuple[int, int, int, int]:
        """Shape of W."""
        inputs = self.inputs if self.is_lifting else self.inputs * len(self.whole)
        return (self.outputs * len(self.whole), inputs, self.kernel_size, self.kernel_size)

    def relaxed(self, subgroup: Group) -> "KernelShape":
        if not subgroup <= self.group:
            raise ConfigError(f"a layer of {self.group} cannot be relaxed to {subgroup}, which is no subgroup of it")
        return replace(self, group=subgroup)


def _on_cpu(numbers: Any) -> Tensor:
    """Indices are made on the CPU, whatever the default device is: on the meta device they would have no values."""
    return torch.tensor(numbers, device="cpu")


@cache
def sources(shape: KernelShape, device: torch.device) -> Tensor:
    """For each entry of W, flattened, the entry of psi, flattened, that it is: int64 (|W|,)."""
    group, whole, pixels = shape.group, shape.whole, shape.kernel_size**2
    parts = [factor(element, group, whole)[0] for element in whole.elements]
    coset = _on_cpu(coset_of(group, whole))
    turned = _on_cpu([pixel_sources(part, shape.kernel_size) for part in parts])  # (g, y)
    rows = _on_cpu(range(shape.outputs))[:, None] * shape.cosets + coset  # (d, g): (d, t)
    if shape.is_lifting:
        columns = _on_cpu(range(shape.inputs))
        found = (rows[:, :, None] * shape.inputs + columns)[..., None] * pixels + turned[None, :, None, :]
    else:
        relative = _on_cpu([[group.position(multiply(inverse(g), h)) for h in parts] for g in parts])  # (g, h)
        columns = _on_cpu(range(shape.inputs))[:, None] * shape.cosets + coset  # (c, h): (c, s)
        pairs = rows[:, :, None, None] * (shape.inputs * shape.cosets) + columns  # (d, g, c, h)
        entries = pairs * len(group) + relative[None, :, None, :]
        found = entries[..., None] * pixels + turned[None, :, None, None, :]
    return found.flatten().to(device)


@cache
def positions(shape: KernelShape, device: torch.device) -> Tensor:
    """The places of each entry of psi in W: int64 (|G|, |psi|)."""
    order = sources(shape, torch.device("cpu")).argsort(stable=True)
    return order.view(-1, len(shape.group)).T.contiguous().to(device)


class _Expand(torch.autograd.Function):
    """Both directions gather; the derivative that autograd knows of a gather scatters, several times slower."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, shape: KernelShape) -> Tensor:
        ctx.shape = shape
        return weight.flatten().index_select(0, sources(shape, weight.device)).view(shape.expanded)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        places = positions(ctx.shape, gradient.device)
        gathered = gradient.flatten().index_select(0, places.flatten()).view(places.shape)
        return gathered.sum(0).view(ctx.shape.weight), None


def expand(weight: Tensor, shape: KernelShape) -> Tensor:
    """psi -> W."""
    if len(shape.group) == 1:
        return weight.reshape(shape.expanded)  # nothing is shared, and the order is the same
    return _Expand.apply(weight, shape)


def relax_kernel(weight: Tensor, shape: KernelShape, subgroup: Group) -> Tensor:
    """psi~[(d, t), (c, s)](g') = psi[d, c](t^-1 g' s), Eq. 4: the subgroup's kernel with the same W."""
    target = shape.relaxed(subgroup)
    return expand(weight, shape).flatten()[positions(target, weight.device)[0]].view(target.weight)
