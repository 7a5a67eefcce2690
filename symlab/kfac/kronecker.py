"""The Kronecker factors of every block, summed over chunks of data.

For each chunk of data points: a forward pass in which every layer's inputs are recorded, the input factors, then one
backward pass per signal and the output factors. Nothing is kept but the factors and one chunk's activations. Within a chunk
all signals are backpropagated at once where they are small (calls would dominate), one after the other otherwise.
``symlab.kfac.parallel`` decides how large chunks are and who works on them.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.grams import accumulate_gram, mirror
from symlab.kfac.layers import Capture, Layer, LayerUse, captured_bytes, per_data_point, unchanged_inputs
from symlab.kfac.likelihoods import Likelihood
from symlab.kfac.rules import BlockRule
from symlab.kfac.signals import Kind, backward_signals

# A pass holds about this many times the bytes of its layers' inputs and outputs: activations, padded copies and one signal.
GRAPH_OVERHEAD = 4
# Signals go through the graph together while their gradients stay below this many bytes a layer.
SMALL_SIGNALS = 2**21


@dataclass
class _Totals:
    inputs: Tensor
    outputs: Tensor
    rows: float = 0.0
    shared: bool = False  # the output factor is summed by a twin


class FactorSums:
    """Adds up factors chunk by chunk; ``blocks()`` at the end."""

    def __init__(
        self,
        model: nn.Module,
        likelihood: Likelihood,
        layers: list[Layer],
        kind: Kind,
        samples: int,
        accumulation: torch.dtype | None,
    ):
        self.model, self.likelihood, self.layers = model, likelihood, layers
        self.kind, self.samples, self.accumulation = kind, samples, accumulation
        # The model computes with these: without gradients of their own, so that no backward pass computes them, and with
        # channels side by side, in which layout convolutions are fastest. The model itself stays as it is.
        self.weights = {name: channels_last(parameter.detach()) for name, parameter in model.named_parameters()}
        self.totals: dict[tuple[str, ...], _Totals] = {}
        self.log_likelihood, self.n_data, self.n_outputs = 0.0, 0, 0

    def add(self, inputs: Tensor, targets: Tensor) -> float:
        """One chunk; returns the bytes that each of its data points took."""
        with Capture(self.layers) as capture, torch.enable_grad():
            outputs = functional_call(self.model, self.weights, (channels_last(inputs.detach()),))
        capture.check_complete()
        n_data = len(inputs)
        with torch.no_grad():
            self.log_likelihood += self.likelihood.log_likelihood(outputs, targets).item()
            self.n_data, self.n_outputs = self.n_data + n_data, outputs.shape[1]
            seen = [per_data_point(unchanged_inputs(use), n_data, use.layer.name, average=True) for use in capture.uses]
            for use, layer_inputs in zip(capture.uses, seen, strict=True):
                self._add_inputs(use.layer, layer_inputs)
            signals = backward_signals(self.kind, self.likelihood, outputs.detach(), targets, self.samples)
        self._backpropagate(outputs, capture.uses, seen, signals)
        return GRAPH_OVERHEAD * captured_bytes(capture.uses) / n_data

    def reserve(self, inputs: Tensor) -> None:
        """Room for every factor and nothing in it; with model and inputs on the meta device, their sizes for free."""
        with Capture(self.layers) as capture, torch.enable_grad():
            functional_call(self.model, self.weights, (channels_last(inputs),))
        capture.check_complete()
        for use in capture.uses:
            seen = per_data_point(use.inputs, len(inputs), use.layer.name, average=True)
            for rule in use.layer.rules:
                self._totals_of(use.layer, rule, seen)

    def _add_inputs(self, layer: Layer, inputs: Tensor) -> None:
        for rule in layer.rules:
            totals = self._totals_of(layer, rule, inputs)
            rule.accumulate_inputs(totals.inputs, inputs)
            totals.rows += rule.count(inputs)

    def _totals_of(self, layer: Layer, rule: BlockRule, inputs: Tensor) -> _Totals:
        names = layer.full_names(rule)
        if names not in self.totals:
            self.totals[names] = self._zeros(layer, rule, inputs)
        return self.totals[names]

    def _zeros(self, layer: Layer, rule: BlockRule, inputs: Tensor) -> _Totals:
        """Room for both factors, sized by the rows of one data point; the output factor may be a twin's."""
        rows = rule.input_rows(inputs[:1])
        products, blocks, width = rows.shape[0], rows.shape[1], rows.shape[-1]
        size = sum(layer.module.get_parameter(name).numel() for name in rule.names)
        n_outputs = size // (products * blocks * width)
        output_blocks = rule.output_blocks
        dtype, device = self.accumulation or inputs.dtype, inputs.device
        extent = n_outputs // output_blocks
        left = torch.zeros(products, blocks, width, width, dtype=dtype, device=device)
        twin = rule.output_twin(inputs)
        if twin is not None and twin in layer.rules:
            return _Totals(left, self.totals[layer.full_names(twin)].outputs, shared=True)
        return _Totals(left, torch.zeros(products, output_blocks, extent, extent, dtype=dtype, device=device))

    def _backpropagate(self, outputs: Tensor, uses: list[LayerUse], seen: list[Tensor], signals: Tensor) -> None:
        """Send all signals (K, N, C) through the graph and add what arrives at every use to its output factors."""
        edges = [use.edge for use in uses]
        if len(signals) > 1 and max(use.inputs.nbytes for use in uses) * len(signals) <= SMALL_SIGNALS:

            def gradients_of(signal: Tensor) -> tuple[Tensor | None, ...]:
                return torch.autograd.grad(outputs, edges, signal, retain_graph=True, allow_unused=True)

            for use, inputs, gradients in zip(uses, seen, vmap(gradients_of)(signals), strict=True):
                for gradient in () if gradients is None else gradients:  # None: the outputs do not depend on this use
                    self._add_gradient(use.layer, inputs, gradient, len(signals[0]))
            return
        # One after the other: a gradient is used as soon as it is there, while it is in the cache, and freed.
        starts = [use.edge for use in uses if use.is_start]
        for use, inputs in zip(uses, seen, strict=True):
            use.receiver.take = partial(self._add_gradient, use.layer, inputs, n_data=len(signals[0]))
        for index, signal in enumerate(signals):
            torch.autograd.grad(outputs, starts, signal, retain_graph=index < len(signals) - 1, allow_unused=True)
        for use in uses:
            use.receiver.take = None

    @torch.no_grad()
    def _add_gradient(self, layer: Layer, inputs: Tensor, gradient: Tensor, n_data: int) -> None:
        gradient = per_data_point(gradient, n_data, layer.name, average=False)
        for rule in layer.rules:
            totals = self.totals[layer.full_names(rule)]
            if not totals.shared:
                accumulate_gram(totals.outputs, rule.output_rows(inputs, gradient))

    def __iadd__(self, other: "FactorSums") -> "FactorSums":
        """Take over what another one summed up."""
        for names, theirs in other.totals.items():
            ours = self.totals.setdefault(names, theirs)
            if ours is theirs:
                continue
            ours.inputs += theirs.inputs
            ours.rows += theirs.rows
            if not ours.shared:
                ours.outputs += theirs.outputs
        self.log_likelihood += other.log_likelihood
        self.n_data += other.n_data
        self.n_outputs = self.n_outputs or other.n_outputs
        return self

    @property
    def nbytes(self) -> int:
        return sum(totals.inputs.nbytes + totals.outputs.nbytes for totals in self.totals.values())

    def blocks(self) -> dict[str, KroneckerBlock]:
        parameters = dict(self.model.named_parameters())
        found = {}
        for names, totals in self.totals.items():
            mirror(totals.inputs)
            mirror(totals.outputs)
            shapes = tuple(tuple(parameters[name].shape) for name in names)
            found[names[0]] = KroneckerBlock(names, shapes, totals.inputs, totals.outputs, totals.rows)
        return found


def channels_last(tensor: Tensor) -> Tensor:
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor
