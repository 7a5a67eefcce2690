"""Output gradients summed over copies, for a layer of which nobody needs them copy by copy.

The first layer of a network that is shown S copies of each data point enters the curvature only through the sum over s of
dL/dy_ns (reduce setting, LILA Eq. 14). So its output y (N S, C, H, W) is shifted by e (N, C, H, W) = 0,

    y_ns + e_n,      dL/de_n = sum_s dL/dy_ns.

Max pooling that reads this output takes y and e from the same places q(n, s) instead,

    pool(y_ns + e_n) = y_ns[q(n, s)] + e_n[q(n, s)]  at e = 0,      dL/de_n[q] = sum of dL/dpool_ns where q(n, s) = q,

with the same derivatives of any order. Maps of gradients of all copies, three quarters of them zeros for a window of 2 x 2,
are then never made, neither in a backward pass nor in the one through it.
"""

from typing import TypeGuard

import torch
from torch import Tensor, nn


class SharedShift:
    """``shifted`` is what the network goes on with, ``shift`` the leaf whose gradient is wanted."""

    def __init__(self, outputs: Tensor, n_data: int):
        self.outputs = outputs
        self.shift = outputs.new_zeros(n_data, *outputs.shape[1:]).requires_grad_()
        self.shifted = (outputs.unflatten(0, (n_data, -1)) + self.shift[:, None]).flatten(0, 1)

    def pool(self, module: nn.MaxPool2d) -> Tensor:
        """What ``module`` makes of ``shifted``."""
        pooled, places = nn.functional.max_pool2d(
            self.outputs,
            module.kernel_size,
            module.stride,
            module.padding,
            module.dilation,
            module.ceil_mode,
            return_indices=True,
        )
        n_data, channels = self.shift.shape[:2]
        maps = torch.arange(n_data * channels, device=places.device).view(n_data, 1, channels, 1, 1)
        entries = places.unflatten(0, (n_data, -1)) + maps * self.shift[0, 0].numel()
        return pooled + self.shift.flatten().index_select(0, entries.flatten()).view(pooled.shape)


def is_plain_max_pooling(module: nn.Module) -> TypeGuard[nn.MaxPool2d]:
    return type(module) is nn.MaxPool2d and not module.return_indices and "forward" not in module.__dict__
