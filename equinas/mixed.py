"""[G]-mixed equivariant layers: kernels of several groups, expanded to the same channels, summed, convolved once (Eq. 11).

    sum_G z_G (f * W_G)  =  f * sum_G z_G W_G            (Eq. 10 = Eq. 11; W_G the expanded kernel psi^G)

``MixedConvolution`` learns z = softmax(logits), from a uniform start; its kernels have a fixed norm, so that z alone says
how much each group counts. ``PathwayConvolution`` is the residual pathway prior as EquiNAS uses it: a C1 kernel beside a D4
kernel, both with weight 1; the prior is a penalty on the former (``residual_weights``).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from equinas.convolution import SymmetricKernel
from equinas.expansion import KernelShape
from symlab.errors import ConfigError
from symlab.groups import C1, D4, Group


class SummedConvolution(nn.Module):
    """A convolution with a weighted sum of kernels; ``shape`` is that of any of them."""

    def __init__(self, shape: KernelShape, groups: Sequence[Group], weight_norm: bool):
        super().__init__()
        if not groups:
            raise ConfigError("a mixed layer needs at least one group")
        whole = KernelShape(shape.whole, shape.whole, shape.outputs, shape.inputs, shape.kernel_size, shape.is_lifting)
        self.kernels = nn.ModuleList(SymmetricKernel(whole.relaxed(group), weight_norm) for group in groups)
        self.kernel_size = shape.kernel_size

    @property
    def groups(self) -> list[Group]:
        return [kernel.group for kernel in self.kernels if isinstance(kernel, SymmetricKernel)]

    def weights(self) -> Tensor:
        """z (groups,)."""
        raise NotImplementedError

    def kernel(self) -> Tensor:
        """sum_G z_G W_G (C', C, K, K)."""
        weights = self.weights().unbind()
        total = weights[0] * self.kernels[0]()
        for weight, kernel in zip(weights[1:], list(self.kernels)[1:], strict=True):
            total = total + weight * kernel()
        return total

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.conv2d(features, self.kernel(), padding=self.kernel_size // 2)


class MixedConvolution(SummedConvolution):
    def __init__(self, shape: KernelShape, groups: Sequence[Group]):
        super().__init__(shape, groups, weight_norm=True)
        self.logits = nn.Parameter(torch.zeros(len(groups)))

    def weights(self) -> Tensor:
        return self.logits.softmax(0)


class PathwayConvolution(SummedConvolution):
    def __init__(self, shape: KernelShape):
        super().__init__(shape, (D4, C1), weight_norm=False)

    def weights(self) -> Tensor:
        return torch.ones(len(self.kernels), device=next(self.parameters()).device)

    def residual_weights(self) -> nn.Parameter:
        """The C1 kernel, which the prior keeps small."""
        weight = self.kernels[1].weight
        assert isinstance(weight, nn.Parameter)
        return weight
