"""Curvature with a graph: how the factors of a few data points move with whatever else the function depends on.

Differentiating log det H through a whole pass would keep the graph of the whole data set. Its derivative, however, is
linear in the data points (LILA Eq. 16): with fixed matrices P_A = d log det/dA and P_G = d log det/dG, found in a first
pass without a graph,

    d log det (H + Delta) / d eta = sum over chunks of d/d eta ( <P_A, A_chunk(eta)> + <P_G, G_chunk(eta)> ).

``chunks`` yields these scalars chunk by chunk, each with the graph of its chunk alone: memory is set by the chunk, not by
the data. Where the inputs of a batch depend on eta themselves (transformed copies of images), each chunk starts from a leaf
of its own, so that the graph behind the inputs is gone through once a batch and not once a chunk.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from symlab.kfac.dense import signal_gradients
from symlab.kfac.kronecker import layout_for
from symlab.kfac.layers import Capture, Layer, captured_bytes, per_data_point
from symlab.kfac.likelihoods import Likelihood
from symlab.kfac.rules import BlockRule
from symlab.kfac.signals import Kind, backward_signals

# What the graphs of all signals hold, in bytes of the layers' inputs and outputs for each signal.
GRAPH_OVERHEAD = 2
MEMORY_BUDGET = 2**28  # bytes of a chunk: with a graph, few data points take much

FactorGradients = Mapping[
    str, tuple[Tensor, Tensor]
]  # of each block, by its first name: d/dA (p, a, d, d), d/dG (p, b, e, e)


@dataclass(frozen=True)
class Chunk:
    """Of a few data points: their log likelihood and the product of their factors with the given gradients, with graphs that
    start at ``inputs``, a leaf."""

    log_likelihood: Tensor
    product: Tensor
    inputs: Tensor

    @property
    def n_data(self) -> int:
        return len(self.inputs)


@dataclass
class GraphPass:
    """What all chunks share. ``find_layers`` gives the layers for Kronecker factors, None for dense structures; ``names``
    are those of the parameters. ``size`` of chunks is found at the first one, from what its data points take.

    Layers are found anew for every chunk: rules may have a graph of their own (a basis that depends on a hyperparameter),
    and that is to be gone with the chunk's."""

    model: nn.Module
    likelihood: Likelihood
    gradients: FactorGradients
    kind: Kind
    samples: int
    memory_budget: int
    find_layers: Callable[[], list[Layer] | None]
    names: list[str]
    size: int | None = None
    _narrowed: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict, repr=False)

    def chunks(self, inputs: Tensor, targets: Tensor) -> Iterator[Chunk]:
        """Of one batch; ``inputs`` of the chunks require a gradient where those of the batch do."""
        start = 0
        while start < len(inputs):
            stop = min(len(inputs), start + (self.size or 2))
            leaf = inputs[start:stop].detach().requires_grad_(inputs.requires_grad)
            chunk, cost = self._chunk(leaf, targets[start:stop])
            self.size = self.size or max(1, int(self.memory_budget / cost))
            start = stop
            yield chunk

    def _chunk(self, inputs: Tensor, targets: Tensor) -> tuple[Chunk, float]:
        """The chunk, and the bytes that one data point of it takes."""
        layers = self.find_layers()
        if layers is None:
            return self._dense_chunk(inputs, targets)
        everything = dict(self.model.named_parameters())
        arrange = layout_for(layers)
        weights = {name: arrange(everything[name].detach()) for name in self.names}
        with Capture(layers, self.model, len(inputs)) as capture:
            outputs = functional_call(self.model, weights, (arrange(inputs),))
        capture.check_complete()
        n_data = len(inputs)
        seen = [per_data_point(use.inputs, n_data, use.layer.name, average=True) for use in capture.uses]
        terms = []
        for use, layer_inputs in zip(capture.uses, seen, strict=True):
            for rule in use.layer.rules:
                terms.append(_inner(self._in_inputs(use.layer, rule, layer_inputs), [rule.input_rows(layer_inputs)]))
        signals = backward_signals(self.kind, self.likelihood, outputs, targets, self.samples)
        edges = [use.edge for use in capture.uses]
        found = [torch.autograd.grad(outputs, edges, signal, create_graph=True, allow_unused=True) for signal in signals]
        for use, layer_inputs, of_signals in zip(capture.uses, seen, zip(*found, strict=True), strict=True):
            arrived = [
                _LaidOutAlike.apply(per_data_point(gradient, n_data, use.layer.name, average=False))
                for gradient in of_signals
                if gradient is not None  # None: the outputs do not depend on this use
            ]
            for rule, in_outputs in self._in_outputs(use.layer, layer_inputs):
                terms.append(_inner(in_outputs, [rule.output_rows(layer_inputs, gradient) for gradient in arrived]))
        cost = GRAPH_OVERHEAD * (1 + len(signals)) * captured_bytes(capture.uses) / n_data
        return Chunk(self.likelihood.log_likelihood(outputs, targets), torch.stack(terms).sum(), inputs), cost

    def _in_inputs(self, layer: Layer, rule: BlockRule, inputs: Tensor) -> Tensor:
        return self._narrow(layer.full_names(rule)[0], inputs.dtype)[0]

    def _in_outputs(self, layer: Layer, inputs: Tensor) -> Iterator[tuple[BlockRule, Tensor]]:
        """Every rule with rows of its own; the gradients of twins, which have the same rows, are added to theirs."""
        for rule in layer.rules:
            twin = rule.output_twin(inputs)
            if twin is not None and twin in layer.rules:
                continue
            alike = [each for each in layer.rules if each is rule or each.output_twin(inputs) is rule]
            found = [self._narrow(layer.full_names(each)[0], inputs.dtype)[1] for each in alike]
            yield rule, found[0] if len(found) == 1 else torch.stack(found).sum(0)

    def _narrow(self, name: str, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """A block's gradients in the type that the network computes in, converted once."""
        if name not in self._narrowed:
            in_inputs, in_outputs = self.gradients[name]
            self._narrowed[name] = (in_inputs.to(dtype), in_outputs.to(dtype))
        return self._narrowed[name]

    def _dense_chunk(self, inputs: Tensor, targets: Tensor) -> tuple[Chunk, float]:
        everything = dict(self.model.named_parameters())
        chosen = {name: everything[name].detach() for name in self.names}
        outputs = functional_call(self.model, chosen, (inputs,))
        signals = backward_signals(self.kind, self.likelihood, outputs, targets, self.samples).transpose(0, 1)
        rows = signal_gradients(self.model, chosen, inputs, signals, detach=False)
        first = self.gradients[self.names[0]][1]
        if first.shape[-1] == rows.shape[1]:  # one block over all parameters: the full matrix
            product = _inner(first.to(rows), [rows[None, None, None]])
        else:
            weights = torch.cat([self.gradients[name][1].flatten() for name in self.names]).to(rows)
            product = (rows.square() * weights).sum()
        cost = 4 * rows.nbytes / len(inputs)
        return Chunk(self.likelihood.log_likelihood(outputs, targets), product, inputs), cost


class _LaidOutAlike(torch.autograd.Function):
    """Nothing is changed; the gradient is brought into the layout of what it is the gradient of.

    Rules show a feature map pixel by pixel, and so would its gradient come back: copied from there to every one of S copies
    in one strided pass, where a transposed copy of one S-th of the size is all that is needed."""

    @staticmethod
    def forward(ctx: Any, features: Tensor) -> Tensor:
        ctx.layout = (features.size(), features.stride())
        return features.view_as(features)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        size, stride = ctx.layout
        return gradient if gradient.stride() == stride else gradient.new_empty_strided(size, stride).copy_(gradient)


def _inner(gradient: Tensor, stacks: Sequence[Tensor]) -> Tensor:
    """sum of <gradient (p, b, d, d), gram(rows)> over rows (p, b, Q, R, d), the Gram matrices never formed.

    <P, rows^T rows> = <rows P, rows> and its gradient is 2 rows P, so the product with P is taken once, without a graph.
    """
    if not stacks:
        return gradient.new_zeros(())
    rows = torch.cat([stack.flatten(2, 3) for stack in stacks], 2)  # (p, b, K Q R, d)
    with torch.no_grad():
        weighted = rows @ gradient
        value = (weighted * rows).sum()
    return 2 * (weighted * rows).sum() - value
