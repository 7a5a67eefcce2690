"""``estimate``: the curvature of a network on data, in the structure and of the kind asked for."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from symlab.allocator import memory_reused
from symlab.errors import ConfigError
from symlab.kfac import differentiable
from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.dense import DenseEstimator, trainable_names
from symlab.kfac.differentiable import FactorGradients, GraphPass
from symlab.kfac.kronecker import FactorSums
from symlab.kfac.layers import Layer, find_layers, refuse_batch_dependence
from symlab.kfac.likelihoods import Likelihood
from symlab.kfac.parallel import KroneckerEstimator
from symlab.kfac.rules import RuleOptions, Rules
from symlab.kfac.rules.base import BiasBlock, Sharing
from symlab.kfac.signals import Kind

Structure = Literal["kfac", "diagonal", "full"]

MEMORY_BUDGET = 2**28  # bytes for activations and gradients of the data points that are worked on at once


@dataclass
class Curvature:
    """Blocks by their first parameter's name; the log likelihood, number and number of outputs (C) of the same data
    points."""

    blocks: dict[str, KroneckerBlock]
    log_likelihood: float
    n_data: int
    n_outputs: int

    def scaled_to(self, n_data: int) -> "Curvature":
        """What ``n_data`` points like these would give: every sum, and with them each H, is multiplied by n_data/N."""
        factor = n_data / self.n_data
        if factor == 1:
            return self
        scaled: dict[int, Tensor] = {}  # a factor that two blocks have in common stays one tensor

        def scale(matrices: Tensor) -> Tensor:
            if id(matrices) not in scaled:
                scaled[id(matrices)] = matrices * factor
            return scaled[id(matrices)]

        blocks = {}
        for name, block in self.blocks.items():
            inputs, outputs = scale(block.inputs), scale(block.outputs)
            blocks[name] = replace(block, inputs=inputs, outputs=outputs, rows=block.rows * factor, summed=block.input_rank)
        return Curvature(blocks, self.log_likelihood * factor, n_data, self.n_outputs)


def estimate(
    model: nn.Module,
    likelihood: Likelihood,
    batches: Iterable[Any],
    *,
    structure: Structure = "kfac",
    kind: Kind = "ggn",
    samples: int = 1,
    sharing: Sharing = "expand",
    bias: BiasBlock = "separate",
    exclude: Iterable[str] = (),
    rules: Rules | None = None,
    memory_budget: int = MEMORY_BUDGET,
    accumulation: torch.dtype | None = None,
) -> Curvature:
    """Curvature of ``-log p(targets | model(inputs))``, summed over ``batches`` of (inputs, targets).

    structure: Kronecker factors per layer, the diagonal, or the whole matrix (small networks).
    kind: exact GGN, Monte-Carlo Fisher with ``samples`` samples, or empirical Fisher.
    sharing: over positions that share a weight; bias: in a block of its own or jointly with the weight.
    exclude: names of parameters or modules that have no curvature, e.g. those of a hyperparameter.
    rules: for layers that do not bring their own (see ``symlab.kfac.rules.base``).
    memory_budget: bytes for what is worked on at once; batches are joined or cut into chunks that fit.
    accumulation: type of the sums; None takes the type of the inputs. torch.float64 for long float32 passes.

    The model is left as it is: same mode, same gradients.
    """
    require_likelihood(likelihood)
    exclude = tuple(exclude)
    layers, names = _choose(model, structure, sharing, bias, exclude, rules)
    estimator: KroneckerEstimator | DenseEstimator
    if layers is not None:

        def sums_for(module: nn.Module) -> FactorSums:
            own = layers if module is model else find_layers(module, RuleOptions(sharing, bias), rules, exclude)
            return FactorSums(module, likelihood, own, kind, samples, accumulation)

        # Samples of a Monte-Carlo Fisher come from one random stream, which threads would read in any order.
        threads = 1 if kind == "mc" else torch.get_num_threads()
        estimator = KroneckerEstimator(model, sums_for, memory_budget, threads)
    else:
        full = structure == "full"
        estimator = DenseEstimator(model, likelihood, names, full, kind, samples, memory_budget, accumulation)
    with memory_reused():
        for inputs, targets in batches:
            estimator.add(inputs, targets)
        sums = estimator.finish()
    if sums.n_data == 0:
        raise ConfigError("there were no batches: curvature needs data (an iterator that was used up?)")
    return Curvature(sums.blocks(), sums.log_likelihood, sums.n_data, sums.n_outputs)


def graph_pass(
    model: nn.Module,
    likelihood: Likelihood,
    gradients: FactorGradients,
    *,
    structure: Structure = "kfac",
    kind: Kind = "ggn",
    samples: int = 1,
    sharing: Sharing = "expand",
    bias: BiasBlock = "separate",
    exclude: Iterable[str] = (),
    rules: Rules | None = None,
    memory_budget: int = differentiable.MEMORY_BUDGET,
) -> GraphPass:
    """The second pass of a hyperparameter gradient (``symlab.kfac.differentiable``); options as in ``estimate``."""
    excluded = tuple(exclude)

    def choose() -> tuple[list[Layer] | None, list[str]]:
        return _choose(model, structure, sharing, bias, excluded, rules)

    names = choose()[1]
    return GraphPass(model, likelihood, gradients, kind, samples, memory_budget, lambda: choose()[0], names)


def _choose(
    model: nn.Module,
    structure: Structure,
    sharing: Sharing,
    bias: BiasBlock,
    exclude: Iterable[str],
    rules: Rules | None,
) -> tuple[list[Layer] | None, list[str]]:
    """The layers with rules (for Kronecker factors only) and the names of the parameters that have curvature."""
    exclude = tuple(exclude)
    refuse_batch_dependence(model)
    if structure not in ("kfac", "diagonal", "full"):
        raise ConfigError(f"structure={structure!r} is unknown: choose kfac, diagonal or full")
    names = trainable_names(model, exclude)
    if not names:
        raise ConfigError("the model has no trainable parameters left: nothing has curvature")
    if structure != "kfac":
        return None, names
    layers = find_layers(model, RuleOptions(sharing, bias), rules, exclude)
    return layers, [name for layer in layers for rule in layer.rules for name in layer.full_names(rule)]


def require_likelihood(candidate: Any) -> None:
    """Refuse losses: a Laplace approximation needs the negative log of a probability, summed over data points."""
    if isinstance(candidate, nn.modules.loss._Loss) or not hasattr(candidate, "hessian_root"):
        name = (
            candidate.__name__ if inspect.isfunction(candidate) or inspect.isclass(candidate) else type(candidate).__name__
        )
        instead = {
            "CrossEntropyLoss": "Classification()",
            "cross_entropy": "Classification()",
            "MSELoss": "Regression(noise=...)",
            "mse_loss": "Regression(noise=...)",
        }.get(name, "Classification() or Regression(noise=...), or a class with the methods of symlab.kfac.Likelihood")
        raise ConfigError(f"{name} is a loss, not a likelihood p(y | f): use {instead}")
