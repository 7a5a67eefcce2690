"""Gaussian prior over the weights, p(theta) = N(theta; 0, Delta^-1), with precisions learnt by groups.

    log p(theta) = 1/2 sum_g (n_g log delta_g - delta_g |theta_g|^2) - P/2 log 2 pi

    scalar    one delta for the network
    layer     one per module: a weight and its bias share it
    tensor    one per parameter tensor
    unit      one per output unit of a module: entry k of its parameters' first dimension. A row of the weight and its bias
              share it, so that they can also share a curvature block; tensors with another first dimension have their own

All log precisions are one float64 vector ``log_precision``, the only parameter of this module: unconstrained, so that
Adam works in log space. Groups are slices of it.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.kfac.blocks import KroneckerBlock

Structure = Literal["scalar", "layer", "tensor", "unit"]


class GaussianPrior(nn.Module):
    """``parameters``: a model (its trainable parameters) or names with tensors. ``precision``: one number to start from,
    or one for each parameter name that needs another than 1."""

    def __init__(
        self,
        parameters: nn.Module | Mapping[str, Tensor] | Iterable[tuple[str, Tensor]],
        structure: Structure = "layer",
        precision: float | Mapping[str, float] = 1.0,
    ):
        super().__init__()
        if structure not in get_args(Structure):
            raise ConfigError(f"structure={structure!r} is unknown: choose from {', '.join(get_args(Structure))}")
        if isinstance(parameters, nn.Module):
            parameters = [(name, tensor) for name, tensor in parameters.named_parameters() if tensor.requires_grad]
        named = dict(parameters)
        if not named:
            raise ConfigError("a prior needs at least one trainable parameter")
        self.structure: Structure = structure
        self.shapes = {name: tuple(tensor.shape) for name, tensor in named.items()}
        self._group = {name: _group_of(name, shape, structure) for name, shape in self.shapes.items()}
        self._slices: dict[str, slice] = {}
        end = 0
        for name, group in self._group.items():
            if group not in self._slices:
                length = self._units(name)
                self._slices[group] = slice(end, end + length)
                end += length
        device = next(iter(named.values())).device
        log_precision = torch.zeros(end, dtype=torch.float64)
        for group, start in self._initial(precision).items():
            log_precision[self._slices[group]] = math.log(start)
        self.log_precision = nn.Parameter(log_precision.to(device))
        sizes = torch.zeros(end, dtype=torch.float64)
        for name, shape in self.shapes.items():
            sizes[self._slices[self._group[name]]] += math.prod(shape) / self._units(name)
        self._sizes: Tensor
        self.register_buffer("_sizes", sizes.to(device), persistent=False)

    @property
    def n_parameters(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes.values())

    def log_density(self, parameters: nn.Module | Mapping[str, Tensor]) -> Tensor:
        """log N(theta; 0, Delta^-1) with its constants; differentiable in theta and in the log precisions."""
        return self.log_density_of_squares(self.squares(parameters))

    def squares(self, parameters: nn.Module | Mapping[str, Tensor]) -> Tensor:
        """|theta_g|^2 of every precision g: all that the density needs of the parameters."""
        values = dict(parameters.named_parameters()) if isinstance(parameters, nn.Module) else parameters
        totals: dict[str, Tensor] = {}
        for name, shape in self.shapes.items():
            if name not in values or tuple(values[name].shape) != shape:
                raise ConfigError(f"the prior needs parameter {name!r} of shape {shape}")
            square = values[name].double().square().reshape(self._units(name), -1).sum(-1)
            group = self._group[name]
            totals[group] = totals[group] + square if group in totals else square
        return torch.cat([totals[group] for group in self._slices])

    def log_density_of_squares(self, squares: Tensor) -> Tensor:
        fit = self._sizes * self.log_precision - self.log_precision.exp() * squares
        return 0.5 * (fit.sum() - self.n_parameters * math.log(2 * math.pi))

    def precisions(self) -> dict[str, Tensor]:
        """The precisions of every group, named by module, parameter or "all", for inspection."""
        return {group: self.log_precision[where].detach().exp() for group, where in self._slices.items()}

    def precision_of_parameter(self, name: str) -> Tensor:
        """delta of one parameter, broadcastable to its shape."""
        if name not in self.shapes:
            raise ConfigError(f"the prior does not know parameter {name!r}: it covers {', '.join(self.shapes)}")
        vector = self.log_precision[self._slices[self._group[name]]].exp()
        if len(vector) == 1:
            return vector.reshape(())
        return vector.reshape(-1, *(1,) * (len(self.shapes[name]) - 1))

    def precision_of(self, block: KroneckerBlock) -> Tensor:
        """delta of a curvature block, broadcastable to (p, E, D): (), (p, E, 1) or (1, 1, D)."""
        for name, shape in zip(block.names, block.shapes, strict=True):
            if self.shapes.get(name) != tuple(shape):
                raise ConfigError(
                    f"the prior does not know parameter {name!r} of shape {tuple(shape)} of the curvature block"
                )
        deltas = [self.precision_of_parameter(name) for name in block.names]
        if len({self._group[name] for name in block.names}) == 1 and deltas[0].dim() == 0:
            return deltas[0]
        if block.n_inputs == 1:  # biases, diagonal and full structures: every parameter is a row
            return block.join([delta.expand(shape) for delta, shape in zip(deltas, block.shapes, strict=True)])
        if all(delta.numel() == 1 for delta in deltas):
            rows = block.products * block.n_outputs
            columns = [
                delta.reshape(1).expand(math.prod(shape) // rows) for delta, shape in zip(deltas, block.shapes, strict=True)
            ]
            return torch.cat(columns)[None, None, :]
        return self._per_output(block)

    def _per_output(self, block: KroneckerBlock) -> Tensor:
        rows, units = block.products * block.n_outputs, self._units(block.names[0])
        if len({self._group[name] for name in block.names}) > 1 or rows % units:
            raise ConfigError(
                f"structure='unit' does not fit the curvature block of {', '.join(block.names)}: its {rows} outputs are not "
                "the units of one precision vector; use 'tensor' or 'layer', or a block for each parameter"
            )
        vector = self.log_precision[self._slices[self._group[block.names[0]]]].exp()
        return vector.repeat_interleave(rows // units).reshape(block.products, block.n_outputs, 1)

    def _units(self, name: str) -> int:
        shape = self.shapes[name]
        return shape[0] if self.structure == "unit" and shape else 1

    def _initial(self, precision: float | Mapping[str, float]) -> dict[str, float]:
        given = precision if isinstance(precision, Mapping) else dict.fromkeys(self.shapes, precision)
        start: dict[str, float] = {}
        for name, value in given.items():
            if name not in self.shapes:
                raise ConfigError(f"precision of {name!r}: the prior has no such parameter, only {', '.join(self.shapes)}")
            if not (value > 0 and math.isfinite(value)):
                raise ConfigError(f"precision={value} of {name!r} does not fit: a finite number above 0 is needed")
            if start.setdefault(self._group[name], value) != value:
                group = self._group[name]
                raise ConfigError(
                    f"precision={value} of {name!r}: group {group!r} shares one precision and has {start[group]}"
                )
        return start


def _group_of(name: str, shape: tuple[int, ...], structure: Structure) -> str:
    module = name.rpartition(".")[0]
    if structure == "scalar":
        return "all"
    if structure == "layer":
        return module
    if structure == "tensor":
        return name
    return f"{module}[{shape[0] if shape else 1}]"
