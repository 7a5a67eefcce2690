"""The gradient of the log marginal likelihood in any hyperparameter of the function, LILA Eqs. 9 and 16.

    d log p(D | eta) / d eta = d/d eta [ sum_n log p(y_n | f(x_n; theta*, eta)) - 1/2 log det (H(eta) + Delta) ]

in two passes: the fit (without a graph) gives the factors and with them d log det/dA, d log det/dG; a second pass
multiplies these with the factors of a few data points at a time, with a graph. The weights are held at theta*.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from symlab.allocator import memory_reused
from symlab.errors import ConfigError
from symlab.kfac.differentiable import GraphPass
from symlab.kfac.estimation import graph_pass
from symlab.laplace.factor import decompose

if TYPE_CHECKING:
    from symlab.laplace.laplace import Laplace


def hyperparameter_gradient(
    laplace: "Laplace", options: Mapping[str, Any], batches: Iterable[Any], hyperparameters: Sequence[Tensor]
) -> list[Tensor]:
    """One tensor per hyperparameter; each must require a gradient. ``options`` are those of the fit."""
    for index, hyperparameter in enumerate(hyperparameters):
        if not hyperparameter.requires_grad:
            raise ConfigError(f"hyperparameters[{index}] does not require a gradient: call requires_grad_() on it")
    second_pass = {key: value for key, value in options.items() if key != "accumulation"}
    passes = graph_pass(laplace.model, laplace.likelihood, factor_gradients(laplace), **second_pass)
    totals = [torch.zeros_like(hyperparameter, dtype=torch.float64) for hyperparameter in hyperparameters]
    n_seen = 0
    with memory_reused():
        for inputs, targets in batches:
            for total, gradient in zip(totals, _batch_gradient(passes, inputs, targets, hyperparameters), strict=True):
                total += gradient
            n_seen += len(inputs)
    if n_seen == 0:
        raise ConfigError("there were no batches: the gradient needs data (an iterator that was used up?)")
    scale = laplace.n_data / n_seen
    return [(total * scale).to(hyper.dtype) for total, hyper in zip(totals, hyperparameters, strict=True)]


def _batch_gradient(passes: GraphPass, inputs: Tensor, targets: Tensor, hyperparameters: Sequence[Tensor]) -> list[Tensor]:
    """Of the batch's part of the objective, in each hyperparameter: through the function, and through the inputs themselves
    where these have a graph."""
    totals = [torch.zeros_like(hyperparameter) for hyperparameter in hyperparameters]
    in_inputs = []
    for chunk in passes.chunks(inputs, targets):
        wanted = [*hyperparameters, chunk.inputs] if inputs.requires_grad else list(hyperparameters)
        found = torch.autograd.grad(chunk.log_likelihood - 0.5 * chunk.product, wanted, allow_unused=True)
        _add(totals, found[: len(totals)])
        if inputs.requires_grad:
            in_inputs.append(torch.zeros_like(chunk.inputs) if found[-1] is None else found[-1])
    if in_inputs:
        _add(totals, torch.autograd.grad(inputs, list(hyperparameters), torch.cat(in_inputs), allow_unused=True))
    return totals


def _add(totals: list[Tensor], gradients: Sequence[Tensor | None]) -> None:
    for total, gradient in zip(totals, gradients, strict=True):
        if gradient is not None:  # None: does not depend on this one
            total += gradient


@torch.no_grad()
def factor_gradients(laplace: "Laplace") -> dict[str, tuple[Tensor, Tensor]]:
    """d log det (H + Delta) in the factors of every block, at the present prior precisions."""
    decompose((factor for spectrum in laplace.spectra for factor in (spectrum.inputs, spectrum.outputs)), vectors=True)
    scale = laplace.data_fit.curvature_scale()
    return {
        name: spectrum.gradient_in_factors(laplace.prior.precision_of(spectrum.block), scale)
        for name, spectrum in zip(laplace.blocks, laplace.spectra, strict=True)
    }
