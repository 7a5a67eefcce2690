"""backpack knows no polyphase pooling: its transposed Jacobian, so that backpack can take part in the workload ``ella``."""

from typing import Any

import torch
from backpack.core.derivatives.basederivatives import BaseDerivatives
from backpack.extensions.secondorder.hbp.hbpbase import HBPBaseModule
from torch import Tensor

from benchmarks.kfac_workloads import PolyphasePool


class PolyphasePoolDerivatives(BaseDerivatives):
    """Signals (V, B, C, H/2, W/2) go back to the pixels of the component that each sample kept, zero elsewhere."""

    def hessian_is_zero(self, module: PolyphasePool) -> bool:
        return True

    def _jac_t_mat_prod(
        self, module: Any, g_inp: Any, g_out: Any, mat: Tensor, subsampling: list[int] | None = None
    ) -> Tensor:
        features = module.input0
        samples, channels, height, width = features.shape
        signals = mat.new_zeros(len(mat), samples, 4, channels, height // 2, width // 2)
        signals[:, torch.arange(samples), module.strongest(features)] = mat
        split = signals.reshape(len(mat), samples, 2, 2, channels, height // 2, width // 2)
        return split.permute(0, 1, 4, 5, 2, 6, 3).reshape(len(mat), samples, channels, height, width)


class PolyphasePoolRule(HBPBaseModule):
    """The rule of KFLR for polyphase pooling."""

    def __init__(self) -> None:
        super().__init__(derivatives=PolyphasePoolDerivatives())


def kflr_with_polyphase_pooling(kflr: type) -> Any:
    """An instance of the extension ``kflr`` that also knows polyphase pooling."""
    extension = kflr()
    extension.set_module_extension(PolyphasePool, PolyphasePoolRule())
    return extension
