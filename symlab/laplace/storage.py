"""A Laplace fit as tensors and plain values, for ``torch.save`` and a ``torch.load`` that runs no code (weights_only).

    version           of this layout
    blocks            list of {names, shapes, inputs, outputs, rows}
    mean              theta* by name
    prior             {structure, shapes, log_precision}
    likelihood        {kind: classification | regression | other, and for a regression log_noise and fitted_log_noise}
    log_likelihood, n_data, n_outputs

Decompositions are not stored: they are as large as the factors and are made again when asked for.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.likelihoods import Classification, Likelihood, Regression
from symlab.laplace.marginal_likelihood import GaussianDataFit
from symlab.laplace.prior import GaussianPrior

if TYPE_CHECKING:
    from symlab.laplace.laplace import Laplace

VERSION = 1


def check_parameters(wanted: Mapping[str, tuple[int, ...]], have: Mapping[str, Tensor]) -> None:
    """Refuses a model whose parameters are not those of the fit, naming each one that differs."""
    wrong = []
    for name, shape in wanted.items():
        if name not in have:
            wrong.append(f"{name} is missing")
        elif tuple(have[name].shape) != tuple(shape):
            wrong.append(f"{name} has shape {tuple(have[name].shape)} instead of {tuple(shape)}")
    if wrong:
        raise ConfigError(f"the model does not fit the curvature: {'; '.join(wrong)}")


def pack(laplace: "Laplace") -> dict[str, Any]:
    return {
        "version": VERSION,
        "blocks": [
            {
                "names": list(block.names),
                "shapes": [list(shape) for shape in block.shapes],
                "inputs": block.inputs.detach(),
                "outputs": block.outputs.detach(),
                "rows": float(block.rows),
            }
            for block in laplace.blocks.values()
        ],
        "mean": dict(laplace.mean),
        "prior": {
            "structure": laplace.prior.structure,
            "shapes": {name: list(shape) for name, shape in laplace.prior.shapes.items()},
            "log_precision": laplace.prior.log_precision.detach(),
        },
        "likelihood": _pack_likelihood(laplace),
        "log_likelihood": laplace.log_likelihood,
        "n_data": laplace.n_data,
        "n_outputs": laplace.n_outputs,
    }


def unpack(state: Mapping[str, Any], model: nn.Module, likelihood: Likelihood | None) -> dict[str, Any]:
    """The arguments of ``Laplace`` (at the noise of the fit), checked against the model."""
    if state.get("version") != VERSION:
        raise ConfigError(
            f"a stored Laplace fit of version {state.get('version')} cannot be read: this is version {VERSION}"
        )
    blocks = {}
    for stored in state["blocks"]:
        names, shapes = tuple(stored["names"]), tuple(tuple(shape) for shape in stored["shapes"])
        blocks[names[0]] = KroneckerBlock(names, shapes, stored["inputs"], stored["outputs"], stored["rows"])
    own = dict(model.named_parameters())
    check_parameters({name: tuple(tensor.shape) for name, tensor in state["mean"].items()}, own)
    prior = GaussianPrior({name: own[name] for name in state["prior"]["shapes"]}, state["prior"]["structure"])
    with torch.no_grad():
        prior.log_precision.copy_(state["prior"]["log_precision"])
    return {
        "model": model,
        "likelihood": _unpack_likelihood(state["likelihood"], likelihood),
        "blocks": blocks,
        "log_likelihood": state["log_likelihood"],
        "n_data": state["n_data"],
        "prior": prior,
        "n_outputs": state["n_outputs"],
    }


def _pack_likelihood(laplace: "Laplace") -> dict[str, Any]:
    likelihood = laplace.likelihood
    if isinstance(likelihood, Classification):
        return {"kind": "classification"}
    if isinstance(likelihood, Regression):
        log_noise = likelihood.log_noise.item()
        fit = laplace.data_fit
        fitted = fit.fitted_log_noise if isinstance(fit, GaussianDataFit) else log_noise
        return {"kind": "regression", "log_noise": log_noise, "fitted_log_noise": fitted}
    return {"kind": "other"}


def _unpack_likelihood(state: Mapping[str, Any], given: Likelihood | None) -> Likelihood:
    if state["kind"] == "regression":
        likelihood = Regression() if given is None else given
        if not isinstance(likelihood, Regression):
            raise ConfigError(f"this fit is of a regression, not of {type(likelihood).__name__}")
        set_log_noise(likelihood, state["fitted_log_noise"])
        return likelihood
    if given is not None:
        return given
    if state["kind"] == "classification":
        return Classification()
    raise ConfigError("this fit has a likelihood of its own: give it to Laplace.load(path, model, likelihood)")


def set_log_noise(likelihood: Regression, log_noise: float) -> None:
    with torch.no_grad():
        likelihood.log_noise.fill_(log_noise)
