"""Structures without rules: the diagonal of the GGN and the whole matrix, exact for any differentiable network.

Both need the Jacobians of single data points, (K, P) each, which torch.func computes chunk by chunk; only their sums are
kept.

    diagonal   h = sum_n sum_k J_n[k]^2       (J_n: gradients of the signals, K x P)
    full       H = sum_n J_n^T J_n            for small networks, and as the oracle of everything else
"""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap

from symlab.errors import ConfigError
from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.likelihoods import Likelihood
from symlab.kfac.signals import Kind, backward_signals

LARGEST_FULL = 20_000  # parameters; the matrix of 20,000 takes 1.6 GB in float32


class DenseEstimator:
    """Adds up squares or outer products of signal gradients; ``structure`` says which."""

    def __init__(
        self,
        model: nn.Module,
        likelihood: Likelihood,
        names: list[str],
        full: bool,
        kind: Kind,
        samples: int,
        memory_budget: int,
        accumulation: torch.dtype | None,
    ):
        self.model, self.likelihood, self.kind, self.samples, self.full = model, likelihood, kind, samples, full
        everything = dict(model.named_parameters())
        self.parameters = {name: everything[name].detach() for name in names}
        self.size = sum(parameter.numel() for parameter in self.parameters.values())
        if full and self.size > LARGEST_FULL:
            raise ConfigError(
                f"structure='full' would keep a matrix of {self.size} x {self.size}: use structure='kfac' or 'diagonal' "
                f"beyond {LARGEST_FULL} parameters"
            )
        first = next(iter(self.parameters.values()))
        shape = (self.size, self.size) if full else (self.size,)
        self.total = torch.zeros(shape, dtype=accumulation or first.dtype, device=first.device)
        self.memory_budget = memory_budget
        self.log_likelihood, self.n_data, self.n_outputs = 0.0, 0, 0

    def add(self, inputs: Tensor, targets: Tensor) -> None:
        with torch.no_grad():
            for rows in self._signal_gradients(inputs, targets):
                rows = rows.to(self.total.dtype)
                if self.full:
                    self.total.addmm_(rows.mT, rows)
                else:
                    self.total += rows.square().sum(0)

    def _signal_gradients(self, inputs: Tensor, targets: Tensor) -> Iterator[Tensor]:
        """(M, P) at a time: the gradients of all signals of a few data points."""
        outputs = self.model(inputs)
        self.log_likelihood += self.likelihood.log_likelihood(outputs, targets).item()
        self.n_data += len(inputs)
        self.n_outputs = outputs.shape[1]
        signals = backward_signals(self.kind, self.likelihood, outputs, targets, self.samples).transpose(0, 1)
        chunk = max(1, int(self.memory_budget / (4 * signals.shape[1] * self.size * outputs.element_size())))
        for some_inputs, some_signals in zip(inputs.split(chunk), signals.split(chunk), strict=True):
            yield signal_gradients(self.model, self.parameters, some_inputs, some_signals, detach=True)

    def finish(self) -> "DenseEstimator":
        return self

    def blocks(self) -> dict[str, KroneckerBlock]:
        shapes = {name: tuple(parameter.shape) for name, parameter in self.parameters.items()}
        if self.full:
            names = tuple(self.parameters)
            one = self.total.new_ones(1, 1, 1, 1)
            matrix = self.total[None, None]
            return {names[0]: KroneckerBlock(names, tuple(shapes.values()), one, matrix, 1.0)}
        sizes = [parameter.numel() for parameter in self.parameters.values()]
        found = {}
        for (name, shape), part in zip(shapes.items(), self.total.split(sizes), strict=True):
            diagonal = part.reshape(-1, 1, 1, 1)
            found[name] = KroneckerBlock((name,), (shape,), torch.ones_like(diagonal), diagonal, 1.0)
        return found


def signal_gradients(
    model: nn.Module, parameters: dict[str, Tensor], inputs: Tensor, signals: Tensor, detach: bool
) -> Tensor:
    """Gradients of <signal, outputs> in the flattened ``parameters``: signals (N, K, C) -> (N K, P).

    ``detach`` cuts them off from whatever else the model depends on; otherwise they are differentiable in it.
    """
    others = {
        name: value.detach() if detach else value for name, value in model.named_parameters() if name not in parameters
    }
    fixed = {**others, **dict(model.named_buffers())}

    def gradients(x: Tensor, of_point: Tensor) -> Tensor:
        def outputs_of(chosen: dict[str, Tensor]) -> Tensor:
            return functional_call(model, {**fixed, **chosen}, (x[None],))[0]

        pullback = vjp(outputs_of, parameters)[1]
        (stacked,) = vmap(pullback)(of_point)
        return torch.cat([stacked[name].flatten(1) for name in parameters], 1)

    return vmap(gradients)(inputs, signals).flatten(0, 1)


def trainable_names(model: nn.Module, exclude: Iterable[str]) -> list[str]:
    exclude = tuple(exclude)
    return [
        name
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and not any(name == each or name.startswith(f"{each}.") for each in exclude)
    ]
