"""Products of small matrices, one for each sample: (batch, rows, inner), (batch, inner, columns) -> (batch, rows, columns).

The same as ``torch.bmm``, made quick for matrices such as 3 x 3 by 3 x 34: torch multiplies matrices of fewer than 400 terms
with plain loops, several times slower than its library multiplies larger ones, so rows of zeros are added up to that size;
and a transposed right factor is slow, so gradients copy the smaller factor instead. Derivatives are products of the same
kind: the function can be differentiated any number of times.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_TERMS_OF_LIBRARY = 400
_WORTH_A_DETOUR = 300_000  # terms of all products together; below, the calls cost more than the loops


class _MultiplyEach(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        return _multiply(a, b)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        wanted_a, wanted_b = ctx.needs_input_grad
        multiply = multiply_each if torch.is_grad_enabled() else _multiply  # a second derivative may be asked for
        gradient_a = None
        if wanted_a and len(gradient[0]) < len(b[0]):
            gradient_a = multiply(b, gradient.mT.contiguous()).mT
        elif wanted_a:
            gradient_a = multiply(gradient, b.mT.contiguous())
        return gradient_a, multiply(a.mT, gradient) if wanted_b else None


def multiply_each(a: Tensor, b: Tensor) -> Tensor:
    if a.numel() * b.shape[2] < _WORTH_A_DETOUR:
        return torch.bmm(a, b)
    return _MultiplyEach.apply(a, b)


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    rows, terms = a.shape[1], a.shape[2] * b.shape[2]
    if 0 < rows * terms < _TERMS_OF_LIBRARY:
        missing = -(-_TERMS_OF_LIBRARY // terms) - rows
        return torch.bmm(functional.pad(a, (0, 0, 0, missing)), b)[:, :rows]
    return torch.bmm(a, b)
