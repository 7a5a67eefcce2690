"""A marginal-likelihood fit and prior steps written down the straightforward way: the peer of ``benchmarks.bench_ella``.

The same approximation as ours (each layer's rule says what the rows a and g are), without anything that makes it fast: one
backward pass per class, rows of every position written out, every factor a dense matrix even where it is block-diagonal,
full eigendecompositions, and autograd through all eigenvalues in every prior step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from symlab.kfac.layers import Layer, find_layers
from symlab.kfac.rules import BlockRule, RuleOptions


@dataclass
class DenseFactors:
    """One block: dense input and output factors of each product, the number of terms of their sums."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    rows: float


def dense_grams(rows: Tensor) -> list[Tensor]:
    """(p, b, Q, R, d) -> p matrices (b d, b d)."""
    return [torch.block_diag(*(blocks.flatten(0, 1).mT @ blocks.flatten(0, 1) for blocks in product)) for product in rows]


def _added(old: list[Tensor] | None, new: list[Tensor]) -> list[Tensor]:
    return new if old is None else [ours + theirs for ours, theirs in zip(old, new, strict=True)]


def fit_factors(
    model: nn.Module, batches: Sequence[tuple[Tensor, Tensor]], exclude: Sequence[str]
) -> tuple[dict[str, DenseFactors], float]:
    """Factors by parameter name and the log likelihood, for a classifier."""
    layers = find_layers(model, RuleOptions(), None, exclude)
    rules: list[tuple[Layer, BlockRule]] = [(layer, rule) for layer in layers for rule in layer.rules]
    factors: dict[str, DenseFactors] = {}
    log_likelihood = 0.0
    for inputs, targets in batches:
        seen: dict[str, tuple[Tensor, Tensor]] = {}
        handles = [layer.module.register_forward_hook(_recorder(seen, layer.name)) for layer in layers]
        logits = model(inputs)
        for handle in handles:
            handle.remove()
        log_likelihood -= nn.functional.cross_entropy(logits, targets, reduction="sum").item()
        root = logits.detach().softmax(-1).sqrt()
        hessian_root = torch.diag_embed(root) - root.square()[:, :, None] * root[:, None, :]  # Lambda = R R^T
        for layer, rule in rules:
            name, layer_inputs = layer.full_names(rule)[0], seen[layer.name][0].detach()
            block = factors.setdefault(name, DenseFactors([], [], 0.0))
            block.inputs = _added(block.inputs or None, dense_grams(rule.input_rows(layer_inputs)))
            block.rows += rule.count(layer_inputs)
        outputs = [seen[layer.name][1] for layer in layers]
        for column in range(logits.shape[1]):
            found = torch.autograd.grad(logits, outputs, hessian_root[:, :, column], retain_graph=True)
            gradients = dict(zip((layer.name for layer in layers), found, strict=True))
            for layer, rule in rules:
                block = factors[layer.full_names(rule)[0]]
                rows = rule.output_rows(seen[layer.name][0].detach(), gradients[layer.name])
                block.outputs = _added(block.outputs or None, dense_grams(rows))
    return factors, log_likelihood


def _recorder(seen: dict[str, tuple[Tensor, Tensor]], name: str) -> Any:
    def record(module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        seen[name] = (arguments[0], output)

    return record


def fit_and_optimise(
    model: nn.Module,
    batches: Sequence[tuple[Tensor, Tensor]],
    exclude: Sequence[str],
    log_precision: Tensor,
    steps: int,
    learning_rate: float,
) -> float:
    """Adam steps in ``log_precision`` (one entry per weight tensor, in the model's order); the negative log marginal
    likelihood after them."""
    factors, log_likelihood = fit_factors(model, batches, exclude)
    parameters = {name: tensor.detach() for name, tensor in model.named_parameters() if name in factors}
    spectra = {
        name: [
            (torch.linalg.eigh(inputs)[0], torch.linalg.eigh(outputs)[0])
            for inputs, outputs in zip(block.inputs, block.outputs, strict=True)
        ]
        for name, block in factors.items()
    }
    optimizer = torch.optim.Adam([log_precision], lr=learning_rate)

    def objective() -> Tensor:
        total = torch.tensor(-log_likelihood, dtype=log_precision.dtype)
        for log_delta, (name, weight) in zip(log_precision, parameters.items(), strict=True):
            size = weight.numel()
            # The prior's constants and those of the Gaussian integral cancel.
            total = total + 0.5 * (log_delta.exp() * weight.double().square().sum() - size * log_delta)
            for inputs, outputs in spectra[name]:
                values = torch.outer(outputs.clamp(min=0), inputs.clamp(min=0)) / factors[name].rows
                total = total + 0.5 * (values + log_delta.exp()).log().sum()
        return total

    for _ in range(steps):
        optimizer.zero_grad()
        objective().backward()
        optimizer.step()
    value = objective().item()
    assert math.isfinite(value), "the straightforward fit has no finite marginal likelihood"
    return value
