"""Gaussian posterior over the weights, N(theta*, Sigma) with Sigma = (H + Delta)^-1, and what it says about the function.

Linearised at theta*, the network's outputs are Gaussian too:

    f(x) ~ N(f(x; theta*), J Sigma J^T),      J = df / dtheta at theta*

    J            one tensor (N, C, *shape) per parameter, joined to (N, C, p, E, D) per curvature block
    J Sigma J^T  (N, C, C), summed over blocks as (R^T J)^T (R^T J) with Sigma = R R^T, hence symmetric and never negative

Where the fit knows the layers, rows take the place of Jacobians (``linearised.py``). Otherwise Jacobians come from
``torch.func`` (reverse mode, vectorised over data points), so any model that maps data points independently will do. They
are made for a few data points at a time: ``memory`` bounds the number of their entries (N C P of a chunk).

The posterior owns a copy of theta*, so the model may be trained further; buffers and structure are the model's. The model
runs in evaluation mode and is left in the mode it had.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from symlab.errors import ConfigError
from symlab.kfac.layers import Layer
from symlab.laplace.linearised import covariance_from_rows, rows_suffice
from symlab.laplace.prior import GaussianPrior
from symlab.laplace.spectrum import Spectrum


class Posterior:
    def __init__(
        self,
        model: nn.Module,
        spectra: Sequence[Spectrum],
        prior: GaussianPrior,
        mean: Mapping[str, Tensor],
        curvature_scale: Tensor | float = 1.0,
        memory: int = 2**25,
        layers: list[Layer] | None = None,
    ):
        self.model, self.layers = model, layers
        self.mean = {name: mean[name].detach().clone() for spectrum in spectra for name in spectrum.block.names}
        self.blocks = [spectrum.block for spectrum in spectra]
        self.memory = memory
        with torch.no_grad():
            self._whitened = [spectrum.whiten(prior.precision_of(spectrum.block), curvature_scale) for spectrum in spectra]

    def sample(self, count: int = 1, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Draws of the parameters, each (count, *shape), in the parameters' own dtype."""
        draws = {}
        for block, whitened in zip(self.blocks, self._whitened, strict=True):
            shape = (count, block.products, block.n_outputs, block.n_inputs)
            noise = torch.randn(shape, dtype=torch.float64, device=block.inputs.device, generator=generator)
            for name, deviation in zip(block.names, block.split(whitened.apply_inverse_root(noise)), strict=True):
                draws[name] = self.mean[name] + deviation.to(self.mean[name].dtype)
        return draws

    def draws(self, count: int, generator: torch.Generator | None = None) -> Iterator[dict[str, Tensor]]:
        """``count`` draws one after the other, sampled as many at once as ``memory`` allows."""
        at_once = max(1, self.memory // sum(block.n_parameters for block in self.blocks))
        for start in range(0, count, at_once):
            sampled = self.sample(min(at_once, count - start), generator)
            for index in range(min(at_once, count - start)):
                yield {name: values[index] for name, values in sampled.items()}

    def outputs(self, inputs: Tensor, parameters: Mapping[str, Tensor] | None = None) -> Tensor:
        """(N, C): the network at theta*, or at a draw."""
        with evaluating(self.model), torch.no_grad():
            return functional_call(self.model, dict(self.mean if parameters is None else parameters), (inputs,))

    def functional_covariance(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean f(x; theta*) (N, C) and covariance J Sigma J^T (N, C, C) of the linearised outputs, as float64."""
        means, covariances = [], []
        for chunk in self._chunks(inputs):
            mean, covariance = self._from_rows(chunk) or self._from_jacobians(chunk)
            means.append(mean.double())
            covariances.append(covariance.double())
        return torch.cat(means), torch.cat(covariances)

    def _from_rows(self, inputs: Tensor) -> tuple[Tensor, Tensor] | None:
        """Without Jacobians, where the layers are known and their blocks are single products."""
        if self.layers is None or not rows_suffice(self.blocks):
            return None
        with evaluating(self.model):
            return covariance_from_rows(self.model, self.mean, self.layers, self.blocks, self._whitened, inputs)

    def _from_jacobians(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        mean, jacobians = self.jacobians(inputs)
        return mean, self._covariance(jacobians)

    def jacobians(self, inputs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """f (N, C) and df / dtheta of every parameter, (N, C, *shape)."""

        def output(parameters: dict[str, Tensor], point: Tensor) -> tuple[Tensor, Tensor]:
            value = functional_call(self.model, parameters, (point[None],))[0]
            return value, value

        with evaluating(self.model), torch.no_grad():
            jacobians, outputs = vmap(jacrev(output, has_aux=True), in_dims=(None, 0))(self.mean, inputs)
        return outputs, jacobians

    def _covariance(self, jacobians: Mapping[str, Tensor]) -> Tensor:
        total = None
        for block, whitened in zip(self.blocks, self._whitened, strict=True):
            joined = block.join([jacobians[name] for name in block.names])
            half = whitened.apply_inverse_root_transposed(joined).flatten(2)
            total = half @ half.mT if total is None else total.baddbmm_(half, half.mT)
        assert total is not None
        return total

    def _chunks(self, inputs: Tensor) -> Sequence[Tensor]:
        if len(inputs) == 0:
            raise ConfigError("there are no inputs to predict")
        outputs = self.outputs(inputs[:1])
        if outputs.dim() != 2:
            raise ConfigError(f"the model's outputs are {tuple(outputs.shape)}: prediction needs (N, C)")
        per_point = outputs.shape[1] * sum(block.n_parameters for block in self.blocks)
        return inputs.split(max(1, self.memory // per_point))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode; every module gets its own mode back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
