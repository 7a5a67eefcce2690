"""How large the Kronecker factors of a network are, found out without computing any.

A forward pass on the meta device, where tensors have shapes but no memory, tells what every layer sees; its rules then size
their factors as a fit would (``symlab.kfac.blocks``: p products of a or b diagonal blocks).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from symlab.kfac.kronecker import FactorSums
from symlab.kfac.layers import find_layers
from symlab.kfac.likelihoods import Classification
from symlab.kfac.rules import RuleOptions, Rules


@dataclass(frozen=True)
class FactorSize:
    """``count`` matrices of ``size`` x ``size``, of the block of the parameter ``name``."""

    name: str
    count: int
    size: int

    @property
    def entries(self) -> int:
        return self.count * self.size**2


def factor_sizes(
    model: nn.Module,
    input_shape: tuple[int, ...],
    options: RuleOptions | None = None,
    rules: Rules | None = None,
    exclude: Iterable[str] = (),
) -> list[FactorSize]:
    """Both factors of every block of ``model``, which lies on the meta device; one that two blocks share is listed once."""
    layers = find_layers(model, options or RuleOptions(), rules, exclude)
    sums = FactorSums(model, Classification(), layers, "ggn", 1, None)
    dtype = next(model.parameters()).dtype
    sums.reserve(torch.empty(2, *input_shape, device="meta", dtype=dtype))
    sizes = []
    for names, totals in sums.totals.items():
        for factor in (totals.inputs,) if totals.shared else (totals.inputs, totals.outputs):
            products, blocks, size, _ = factor.shape
            sizes.append(FactorSize(names[0], products * blocks, size))
    return sizes
