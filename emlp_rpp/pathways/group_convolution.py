"""Group convolutions on square maps as a subspace of the dense layers, for a group G and for a subgroup H of it.

Features of G are (C |G|, L, L), channel c |G| + g; an element a moves them by [a f](c, g, y) = f(c, a^-1 g, a^-1 y), and
images (C, L, L) by [a x](c, y) = x(c, a^-1 y). Every g of G is h r with h of H and r of the representatives R of H in G:

    K[(c', h r), (c, k)](l) = w[c', r, c, h^-1 k](h^-1 l)        from features; from images without the index k

commutes with every h of H: with G itself for H = G (Cohen and Welling 2016), with translations alone for H = C1, which is
an ordinary convolution. The weights of G are among those of each H, so a residual path of H breaks G to H (section 3.4).

Layout: (..., C |G|, L, L) or (..., C, L, L) -> (..., C' |G|, L, L); ``weight`` (C', |R|, C, |G| or 1, k, k) and ``bias``
(C', |R|).
"""

import torch
from torch import Tensor, nn

from emlp_rpp.errors import InputSizeError
from emlp_rpp.pathways.convolution import Padding, check_geometry, convolve, dense_kernel, used_offsets
from symlab.errors import ConfigError
from symlab.groups import Group, act, factor, inverse, multiply, representatives


class GroupConvolution(nn.Module):
    """``extent``: L. ``subgroup``: H, by default G. ``lifting``: from images instead of features of G."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        extent: int,
        group: Group,
        subgroup: Group | None = None,
        kernel_size: int = 3,
        padding: Padding = "zero",
        lifting: bool = False,
    ):
        super().__init__()
        self.group, self.subgroup, self.padding, self.lifting = group, subgroup or group, padding, lifting
        if not self.subgroup <= group:
            raise ConfigError(f"{self.subgroup} is no subgroup of {group}")
        slots = 1 if lifting else len(group)
        self.shape_in, self.shape_out = (channels_in * slots, extent, extent), (channels_out * len(group), extent, extent)
        check_geometry(self.shape_in, kernel_size, 1, padding)
        cosets = len(representatives(self.subgroup, group))
        self.weight = nn.Parameter(torch.empty(channels_out, cosets, channels_in, slots, kernel_size, kernel_size))
        self.bias = nn.Parameter(torch.empty(channels_out, cosets))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As a convolution of the expanded kernel's size starts."""
        bound = (self.shape_in[0] * self.weight.shape[-1] ** 2) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def kernel(self) -> Tensor:
        """K as a kernel of an ordinary convolution, (C' |G|, C |G|, k, k)."""
        kept = representatives(self.subgroup, self.group)
        found = []
        for g in self.group.elements:
            h, r = factor(g, self.subgroup, self.group)
            own = self.weight[:, kept.index(r)]
            if not self.lifting:
                back = [self.group.position(multiply(inverse(h), k)) for k in self.group.elements]
                own = own[:, :, back]
            found.append(act(h, own))
        return torch.stack(found, 1).flatten(2, 3).flatten(0, 1)

    def expanded_bias(self) -> Tensor:
        kept = representatives(self.subgroup, self.group)
        cosets = [kept.index(factor(g, self.subgroup, self.group)[1]) for g in self.group.elements]
        return self.bias[:, cosets].flatten()

    def forward(self, x: Tensor) -> Tensor:
        if tuple(x.shape[-3:]) != self.shape_in:
            raise InputSizeError(f"an input of shape {tuple(x.shape)} does not fit: (..., {self.shape_in}) is needed")
        return convolve(x, self.kernel(), self.expanded_bias(), 1, self.padding)

    def dense(self) -> tuple[Tensor, Tensor]:
        extent = self.shape_in[1]
        return dense_kernel(self.kernel(), self.shape_in, 1, self.padding), self.expanded_bias().repeat_interleave(extent**2)

    def multiplicities(self) -> dict[str, Tensor]:
        """Entries of K are entries of w, each used once by every h: those of K, summed over h."""
        extent, size = self.shape_in[1], self.weight.shape[-1]
        along = used_offsets(extent, size, 1, self.padding).to(self.weight)
        uses = along[:, None] * along[None, :]
        total = torch.stack([act(inverse(h), uses) for h in self.subgroup.elements]).sum(0)
        return {"weight": total, "bias": torch.tensor(float(len(self.subgroup) * extent**2))}
