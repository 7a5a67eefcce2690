"""Lifting and group convolutions (Eqs. 1 and 2): expand the kernel, then one standard convolution. No bias: a batch
normalisation follows.

With weight normalisation (Salimans and Kingma) the kernel is psi = scale v / |v| with one norm over all of v. The scale is a
constant, that of the initial draw, so that training changes directions alone (EquiNAS Section 5.2).
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from equinas.expansion import KernelShape, expand, relax_kernel
from equinas.transfer import Transfer, unchanged
from symlab.groups import Group


class SymmetricKernel(nn.Module):
    """psi as a parameter; calling it gives W. Drawn so that a ReLU network keeps its variance, by the same rule for every
    group, so that the expanded kernels of different groups are equally large."""

    scale: Tensor

    def __init__(self, shape: KernelShape, weight_norm: bool = False):
        super().__init__()
        self.shape, self.weight_norm = shape, weight_norm
        self.weight = nn.Parameter(torch.empty(shape.weight))
        nn.init.normal_(self.weight, std=math.sqrt(2 / math.prod(shape.expanded[1:])))
        if weight_norm:
            self.register_buffer("scale", self.weight.detach().norm().clone())

    @property
    def group(self) -> Group:
        return self.shape.group

    def kernel(self) -> Tensor:
        """psi, of the shape that ``KernelShape.weight`` says."""
        return self.weight * (self.scale / self.weight.norm()) if self.weight_norm else self.weight

    def forward(self) -> Tensor:
        return expand(self.kernel(), self.shape)

    def fresh(self, subgroup: Group) -> "SymmetricKernel":
        return SymmetricKernel(self.shape.relaxed(subgroup), self.weight_norm)

    def transfers(self, subgroup: Group) -> Mapping[str, Transfer]:
        """v is copied as it is; the norm of its copies is larger by the root of their number, and so is the scale."""
        copies = len(self.group) // len(subgroup)
        found = {"weight": Transfer(lambda tensor: relax_kernel(tensor, self.shape, subgroup), gradient_share=1 / copies)}
        if self.weight_norm:
            found["scale"] = Transfer(unchanged, gain=math.sqrt(copies))
        return found


class SymmetricConvolution(nn.Module):
    """(B, C, H, W) -> (B, C', H, W), channels as in ``equinas.fibres``; zeros around the image."""

    def __init__(self, shape: KernelShape, weight_norm: bool = False):
        super().__init__()
        self.kernel = SymmetricKernel(shape, weight_norm)

    @property
    def group(self) -> Group:
        return self.kernel.group

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.conv2d(features, self.kernel(), padding=self.kernel.shape.kernel_size // 2)
