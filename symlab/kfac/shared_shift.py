"""Output gradients summed over copies, for a layer of which nobody needs them copy by copy.

The first layer of a network that is shown S copies of each data point enters the curvature only through the sum over s of
dL/dy_ns (reduce setting, LILA Eq. 14). So its output y (N S, C, H, W) is shifted by e (N, C, H, W) = 0,

    y_ns + e_n,      dL/de_n = sum_s dL/dy_ns.

Max pooling that reads this output sums the gradients of all copies where it places them (``symlab.window_maximum``).

An activation phi that reads this output is taken to first order in e, which is all that derivatives at e = 0 see. Where its
values are averaged over the copies at once (``CopyAverage``), as in a network of one hidden layer, so is its derivative,

    phi(y_ns + e_n) = phi(y_ns) + phi'(y_ns) e_n,      1/S sum_s phi(y_ns + e_n) = phi^_n + phi'^_n e_n,

and each of many backward signals costs one S-th of a pass over all copies.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from symlab.window_maximum import window_maximum, window_of

# phi'(y) from phi(y), entry by entry
_DERIVATIVES: dict[type[nn.Module], Callable[[Tensor], Tensor]] = {
    nn.Tanh: lambda values: 1 - values.square(),
    nn.ReLU: lambda values: (values > 0).to(values.dtype),
    nn.Sigmoid: lambda values: values * (1 - values),
}


class SharedShift:
    """``shifted`` is what the network goes on with, ``shift`` the leaf whose gradient is wanted."""

    def __init__(self, outputs: Tensor, n_data: int):
        self.outputs = outputs
        self.shift = outputs.new_zeros(n_data, *outputs.shape[1:]).requires_grad_()
        self.shifted: Tensor = _Shifted.apply(outputs, self.shift)
        self.activated: Tensor | None = None

    def is_read_by(self, features: Tensor) -> bool:
        """Whether these are ``shifted``, and nothing was written into them since."""
        return features is self.shifted and features._version == 0

    def is_averaged_in(self, features: Tensor) -> bool:
        """Whether these are ``activated``, and nothing was written into them since."""
        return features is self.activated and features._version == 0

    def pool(self, module: nn.MaxPool2d) -> Tensor:
        """What ``module`` makes of ``shifted``."""
        window = window_of(module)
        if window is None:
            return nn.MaxPool2d.forward(module, self.shifted)
        return window_maximum(self.outputs, window, self.shift)

    def activate(self, module: nn.Module) -> Tensor:
        """What ``module`` makes of ``shifted``; an activation that ``is_known_activation``."""
        self._values, self._derivative = type(module).forward(module, self.outputs), _DERIVATIVES[type(module)]
        self.activated = _Activated.apply(self._values, self.shift, self._derivative)
        return self.activated

    def average(self) -> Tensor:
        """The mean of ``activated`` over the copies, (N, ...)."""
        values = self._values.unflatten(0, (len(self.shift), -1))
        # Sums that are divided afterwards: the gradient of a mean is written down for every copy.
        copies = values.shape[1]
        return values.sum(1) / copies + self.shift * (self._derivative(values).sum(1) / copies)


class _Shifted(torch.autograd.Function):
    """y_ns + e_n at e = 0, where only the gradient knows of e. A copy: the network may write into it."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, shift: Tensor) -> Tensor:
        ctx.n_data = len(shift)
        return outputs.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        in_shift = gradient.unflatten(0, (ctx.n_data, -1)).sum(1)
        return gradient if ctx.needs_input_grad[0] else None, in_shift


class _Activated(torch.autograd.Function):
    """phi(y_ns) + phi'(y_ns) e_n at e = 0, from phi(y_ns); a copy, too."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, shift: Tensor, derivative: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.n_data, ctx.derivative = len(shift), derivative
        ctx.save_for_backward(values)
        return values.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None]:
        (values,) = ctx.saved_tensors
        in_shift = (gradient * ctx.derivative(values)).unflatten(0, (ctx.n_data, -1)).sum(1)
        return gradient if ctx.needs_input_grad[0] else None, in_shift, None


def is_known_activation(module: nn.Module) -> bool:
    return type(module) in _DERIVATIVES and not getattr(module, "inplace", False) and "forward" not in module.__dict__


def is_plain_max_pooling(module: nn.Module) -> TypeGuard[nn.MaxPool2d]:
    return type(module) is nn.MaxPool2d and not module.return_indices and "forward" not in module.__dict__
