"""The memory a run needs at its peak, from sizes alone: nothing is allocated, the network lies on the meta device.

With W the bytes of all parameters, F those of all Kronecker factors and n^2 the entries of the largest one,

    peak      data + 4 W + max(training, fit)         4 W: weights, gradients and Adam's two moments
    training  what autograd keeps of a batch for the backward pass, and twice its largest tensor for gradients underway
    fit       W + copies F + chunk + solver + stack   MAP has none

    W         a fit keeps theta*
    copies    1; 2 where the curvature of a part of the data is scaled up to all; one more for each further thread that sums
              factors of its own (only while F is below the budget of a chunk)
    chunk     ``symlab.kfac.estimation.MEMORY_BUDGET``, for the data points worked on at once; these are done with when
              factors are decomposed, but an allocator seldom gives so many small pieces back
    solver    a factor is decomposed in float64 by a solver that works on a copy: 16 n^2 bytes, one factor at a time if it is
              large (``symlab.laplace.factor.LARGE``), one per thread otherwise
    stack     eigenvalues of small tensors (``symlab.laplace.stack.SMALL``) and two vectors as long, in float64

Eigenvectors are never asked for (prior steps need eigenvalues), and the products of eigenvalues exist only tile by tile, so
nothing has the size of a dense curvature block. Not counted: the interpreter with its libraries (a plan measures and adds
them) and workspaces inside convolutions and solvers, together tens of megabytes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from symlab.data.dataset import Dataset
from symlab.kfac.estimation import MEMORY_BUDGET
from symlab.kfac.sizes import FactorSize, factor_sizes
from symlab.laplace.factor import LARGE
from symlab.laplace.stack import SMALL
from symlab.trainer.descent import hyperparameter_names

_DOUBLE = 8


@dataclass(frozen=True)
class Memory:
    """Bytes; ``fit`` is 0 without marginal-likelihood fits."""

    data: int
    state: int  # weights, gradients, moments
    training: int
    fit: int

    @property
    def peak(self) -> int:
        return self.data + self.state + max(self.training, self.fit)


def data_bytes(data: Dataset) -> int:
    return sum(split.inputs.nbytes + split.targets.nbytes for split in data.splits.values())


def parameter_bytes(model: nn.Module) -> int:
    return sum(parameter.nbytes for parameter in model.parameters())


def training_bytes(model: nn.Module, input_shape: tuple[int, ...], batch_size: int) -> int:
    """What the graph of one batch keeps, each memory once and parameters left out, and gradients underway."""
    own = {_storage(parameter) for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if _storage(tensor) not in own:
            kept[_storage(tensor)] = tensor.untyped_storage().nbytes()
        return tensor

    inputs = torch.empty(batch_size, *input_shape, device="meta", dtype=next(model.parameters()).dtype)
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = model(inputs)  # held until the end, so that no two storages have the same address
    del outputs
    return sum(kept.values()) + 2 * max(kept.values(), default=0)


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def fit_bytes(tensors: list[int], factors: list[FactorSize], scaled_up: bool, threads: int, value_bytes: int) -> int:
    """The part of a marginal-likelihood fit. ``tensors``: the entries of each weight tensor; ``threads`` of a processor, 1
    on other devices."""
    bytes_of_factors = value_bytes * sum(factor.entries for factor in factors)
    copies = 1 + scaled_up + (threads - 1 if bytes_of_factors < MEMORY_BUDGET else 0)
    solver = max(2 * _DOUBLE * each.entries * (1 if each.size >= LARGE else threads) for each in factors)
    stack = 3 * _DOUBLE * sum(size for size in tensors if size <= SMALL)
    return value_bytes * sum(tensors) + copies * bytes_of_factors + MEMORY_BUDGET + solver + stack


def estimate_memory(
    model: nn.Module, data: Dataset, batch_size: int, fit_size: int | None = None, threads: int = 1
) -> Memory:
    """``model`` on the meta device; ``fit_size``: data points of a marginal-likelihood fit, None for MAP."""
    weights = parameter_bytes(model)
    fit = 0
    if fit_size is not None:
        factors = factor_sizes(model, data.input_shape, exclude=hyperparameter_names(model))
        value_bytes = next(model.parameters()).element_size()
        tensors = [parameter.numel() for parameter in model.parameters()]
        fit = fit_bytes(tensors, factors, fit_size < len(data.train), threads, value_bytes)
    return Memory(data_bytes(data), 4 * weights, training_bytes(model, data.input_shape, batch_size), fit)
