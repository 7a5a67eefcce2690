"""The free layer y = W x + b with any W and b: the space of all weights. Every multiplicity is 1."""

from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from emlp_rpp.errors import InputSizeError


class Dense(nn.Module):
    """(..., *shape_in) -> (..., *shape_out), features flattened and folded again."""

    def __init__(self, shape_in: tuple[int, ...], shape_out: tuple[int, ...]):
        super().__init__()
        self.shape_in, self.shape_out = tuple(shape_in), tuple(shape_out)
        size_in, size_out = prod(shape_in), prod(shape_out)
        self.weight = nn.Parameter(torch.empty(size_out, size_in))
        self.bias = nn.Parameter(torch.empty(size_out))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As nn.Linear starts."""
        bound = self.weight.shape[1] ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        if tuple(x.shape[x.ndim - len(self.shape_in) :]) != self.shape_in:
            raise InputSizeError(f"an input of shape {tuple(x.shape)} does not fit: (..., {self.shape_in}) is needed")
        flat = x.flatten(x.ndim - len(self.shape_in)) if len(self.shape_in) > 1 else x
        y = functional.linear(flat, self.weight, self.bias)
        return y.unflatten(-1, self.shape_out) if len(self.shape_out) > 1 else y

    def dense(self) -> tuple[Tensor, Tensor]:
        return self.weight, self.bias

    def multiplicities(self) -> dict[str, Tensor]:
        return {"weight": torch.ones(()), "bias": torch.ones(())}
