"""The Kronecker factors of every block, summed over chunks of data.

For each chunk of data points: a forward pass in which every layer's inputs are recorded, the input factors, then backward
passes and the output factors. Nothing is kept but the factors and one chunk's activations. Where layers see vectors,
several signals go through the graph together, as one tall matrix for every product; where they see feature maps, one after
the other: these fill the cache by themselves, and under vmap their operations are slower (convolutions: twice as slow) or
not known (group norm). ``symlab.kfac.parallel`` decides how large chunks are and who works on them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.grams import accumulate_gram, mirror
from symlab.kfac.layers import Capture, HeldBytes, Layer, LayerUse, per_data_point, unchanged_inputs
from symlab.kfac.likelihoods import Likelihood
from symlab.kfac.rules import BlockRule
from symlab.kfac.signals import Kind, backward_signals

# A pass takes about this many times what its graph holds and a few gradients of the largest output: also temporaries of
# rules and of convolutions, and holes between freed blocks. Measured on convolutions, ReLU and two kinds of pooling.
PASS_OVERHEAD, GRADIENTS = 2.5, 4
# As many signals go through the graph together as keep the gradients in a layer's output below this many bytes. It pays for
# narrow layers; where one signal fills this by itself (784-500-500-10 with 500 points), all nine at once save a twentieth of
# the time and take twice the memory.
JOINED_SIGNALS = 3 * 2**19
FEW_CHANNELS = 8  # below it, channels side by side do not fill a vector register


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
        self.arrange = layout_for(layers)
        self.weights = {name: self.arrange(parameter.detach()) for name, parameter in model.named_parameters()}
        self.totals: dict[tuple[str, ...], _Totals] = {}
        self.log_likelihood, self.n_data, self.n_outputs = 0.0, 0, 0
        self.sees_maps = False

    def add(self, inputs: Tensor, targets: Tensor) -> None:
        """One chunk."""
        with Capture(self.layers, self.model, len(inputs)) as capture, torch.enable_grad():
            outputs = functional_call(self.model, self.weights, (self.arrange(inputs.detach()),))
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

    def reserve(self, inputs: Tensor) -> float:
        """Room for every factor and nothing in it; returns the bytes that a pass takes for each such data point and finds
        out whether any layer ``sees_maps``. With model and inputs on the meta device, sizes for free."""
        held = HeldBytes(self.weights.values())
        with Capture(self.layers) as capture, torch.enable_grad(), held:
            functional_call(self.model, self.weights, (self.arrange(inputs.detach()),))
        capture.check_complete()
        for use in capture.uses:
            seen = per_data_point(use.inputs, len(inputs), use.layer.name, average=True)
            for rule in use.layer.rules:
                self._totals_of(use.layer, rule, seen)
        for use in capture.uses:
            held.count(use.inputs)
        largest = max(use.output_bytes for use in capture.uses)
        self.sees_maps = any(use.is_map for use in capture.uses)
        return PASS_OVERHEAD * (held.total + GRADIENTS * largest) / len(inputs)

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
        """Send all signals (K, N, C) through the graph and add what arrives at every use to its output factors: as soon as
        it is there, while it is in the cache, so that it need not be kept."""
        starts = [use.edge for use in uses if use.is_start]
        for use, inputs in zip(uses, seen, strict=True):
            use.receiver.take = partial(self._add_gradients, use.layer, inputs)

        together = 1
        if not any(use.is_map for use in uses):
            together = max(1, JOINED_SIGNALS // max(1, *(use.output_bytes for use in uses)))
        groups = signals.contiguous().chunk(-(-len(signals) // together))  # side by side: one matrix instead of a stack
        for group in groups:
            last = group is groups[-1]

            def send(signal: Tensor, last: bool = last) -> Tensor:
                torch.autograd.grad(outputs, starts, signal, retain_graph=not last, allow_unused=True)
                return signal.new_zeros(())  # vmap wants a tensor

            if len(group) == 1:
                send(group[0])
            else:
                vmap(send)(group)
        for use in uses:
            use.receiver.take = None

    @torch.no_grad()
    def _add_gradients(self, layer: Layer, inputs: Tensor, gradients: Tensor) -> None:
        """What K signals give at the output of a layer: (K, N, ...), or (K, N S, ...) where it sees S copies."""
        n_signals, n_data = len(gradients), len(inputs)
        gradients = per_data_point(gradients.flatten(0, 1), n_signals * n_data, layer.name, average=False)
        gradients = gradients.unflatten(0, (n_signals, n_data))
        for rule in layer.rules:
            totals = self.totals[layer.full_names(rule)]
            if not totals.shared:
                accumulate_gram(totals.outputs, rule.joined_output_rows(inputs, gradients))

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
            if not totals.shared:
                mirror(totals.outputs)
            shapes = tuple(tuple(parameters[name].shape) for name in names)
            found[names[0]] = KroneckerBlock(names, shapes, totals.inputs, totals.outputs, totals.rows)
        return found


def layout_for(layers: list[Layer]) -> Callable[[Tensor], Tensor]:
    """What to do to feature maps and kernels before a pass: channels side by side are fastest, but not for kernels that have
    fewer of them than a vector register holds."""
    kernels = [layer.module for layer in layers if isinstance(layer.module, nn.Conv2d)]
    narrow = any(kernel.out_channels < FEW_CHANNELS and kernel.padding_mode == "zeros" for kernel in kernels)
    return (lambda tensor: tensor) if narrow else channels_last


def channels_last(tensor: Tensor) -> Tensor:
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor
