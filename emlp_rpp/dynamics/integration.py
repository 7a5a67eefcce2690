"""The classical method of Runge and Kutta, differentiable and with fixed steps.

    k1 = F(z)   k2 = F(z + h/2 k1)   k3 = F(z + h/2 k2)   k4 = F(z + h k3)   z <- z + h/6 (k1 + 2 k2 + 2 k3 + k4)

# Paper: an adaptive method at a tolerance of 2e-6. Its steps depend on the whole batch, and so would a prediction; fixed
# steps leave each trajectory alone. Steps of 0.05 s follow the double spring to 2e-6 over 30 s; steps of 0.1 s follow it to
# 1e-6 over the 0.8 s of a chunk of training data, steps of 0.2 s to 2e-5.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def runge_kutta(
    field: Callable[[Tensor], Tensor], states: Tensor, intervals: int, interval: float, steps_per_interval: int
) -> Tensor:
    """(B, n) at time 0 -> (B, intervals, n) at ``interval``, 2 ``interval``, ..."""
    step = interval / steps_per_interval
    points = []
    for _ in range(intervals):
        for _ in range(steps_per_interval):
            k1 = field(states)
            k2 = field(torch.add(states, k1, alpha=step / 2))
            k3 = field(torch.add(states, k2, alpha=step / 2))
            k4 = field(torch.add(states, k3, alpha=step))
            states = states + step / 6 * (k1 + 2 * (k2 + k3) + k4)
        points.append(states)
    return torch.stack(points, dim=1)
