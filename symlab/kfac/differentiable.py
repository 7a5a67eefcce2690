"""Curvature with a graph: how the factors of a few data points move with whatever else the function depends on.

Differentiating log det H through a whole pass would keep the graph of the whole data set. Its derivative, however, is
linear in the data points (LILA Eq. 16): with fixed matrices P_A = d log det/dA and P_G = d log det/dG, found in a first
pass without a graph,

    d log det (H + Delta) / d eta = sum over chunks of d/d eta ( <P_A, A_chunk(eta)> + <P_G, G_chunk(eta)> ).

``chunks`` yields these scalars chunk by chunk, each with the graph of its chunk alone: memory is set by the chunk, not by
the data.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from symlab.kfac.dense import signal_gradients
from symlab.kfac.grams import gram
from symlab.kfac.kronecker import GRAPH_OVERHEAD, channels_last
from symlab.kfac.layers import Capture, Layer, captured_bytes, per_data_point
from symlab.kfac.likelihoods import Likelihood
from symlab.kfac.signals import Kind, backward_signals

FactorGradients = Mapping[
    str, tuple[Tensor, Tensor]
]  # of each block, by its first name: d/dA (p, a, d, d), d/dG (p, b, e, e)


@dataclass(frozen=True)
class Chunk:
    """Of ``n_data`` data points: their log likelihood and the product of their factors with the given gradients, with
    graphs."""

    log_likelihood: Tensor
    product: Tensor
    n_data: int


@dataclass(frozen=True)
class GraphPass:
    """What all chunks share. ``layers`` for Kronecker factors; for dense structures None, with ``names`` of the
    parameters."""

    model: nn.Module
    likelihood: Likelihood
    gradients: FactorGradients
    kind: Kind
    samples: int
    memory_budget: int
    layers: list[Layer] | None
    names: list[str]

    def chunks(self, batches: Iterable[tuple[Tensor, Tensor]]) -> Iterator[Chunk]:
        size: int | None = None
        for inputs, targets in batches:
            start = 0
            while start < len(inputs):
                stop = min(len(inputs), start + (size or min(2, len(inputs))))
                chunk, cost = self._chunk(inputs[start:stop], targets[start:stop])
                size = size or max(1, int(self.memory_budget / cost))
                start = stop
                yield chunk

    def _chunk(self, inputs: Tensor, targets: Tensor) -> tuple[Chunk, float]:
        """The chunk, and the bytes that one data point of it takes."""
        if self.layers is None:
            return self._dense_chunk(inputs, targets)
        everything = dict(self.model.named_parameters())
        weights = {name: channels_last(everything[name].detach()) for name in self.names}
        with Capture(self.layers) as capture:
            outputs = functional_call(self.model, weights, (channels_last(inputs),))
        capture.check_complete()
        n_data = len(inputs)
        seen = [per_data_point(use.inputs, n_data, use.layer.name, average=True) for use in capture.uses]
        terms = []
        for use, layer_inputs in zip(capture.uses, seen, strict=True):
            for rule in use.layer.rules:
                in_inputs, _ = self.gradients[use.layer.full_names(rule)[0]]
                terms.append(_inner(in_inputs, rule.input_rows(layer_inputs)))
        signals = backward_signals(self.kind, self.likelihood, outputs, targets, self.samples)
        edges = [use.edge for use in capture.uses]
        for signal in signals:
            found = torch.autograd.grad(outputs, edges, signal, create_graph=True, allow_unused=True)
            for use, layer_inputs, gradient in zip(capture.uses, seen, found, strict=True):
                if gradient is None:
                    continue
                gradient = per_data_point(gradient, n_data, use.layer.name, average=False)
                for rule in use.layer.rules:
                    _, in_outputs = self.gradients[use.layer.full_names(rule)[0]]
                    terms.append(_inner(in_outputs, rule.output_rows(layer_inputs, gradient)))
        cost = GRAPH_OVERHEAD * (1 + len(signals)) * captured_bytes(capture.uses) / n_data
        return Chunk(self.likelihood.log_likelihood(outputs, targets), torch.stack(terms).sum(), n_data), cost

    def _dense_chunk(self, inputs: Tensor, targets: Tensor) -> tuple[Chunk, float]:
        everything = dict(self.model.named_parameters())
        chosen = {name: everything[name].detach() for name in self.names}
        outputs = functional_call(self.model, chosen, (inputs,))
        signals = backward_signals(self.kind, self.likelihood, outputs, targets, self.samples).transpose(0, 1)
        rows = signal_gradients(self.model, chosen, inputs, signals, detach=False)
        first = self.gradients[self.names[0]][1]
        if first.shape[-1] == rows.shape[1]:  # one block over all parameters: the full matrix
            product = _inner(first, rows[None, None, None])
        else:
            weights = torch.cat([self.gradients[name][1].flatten() for name in self.names]).to(rows)
            product = (rows.square() * weights).sum()
        cost = 4 * rows.nbytes / len(inputs)
        return Chunk(self.likelihood.log_likelihood(outputs, targets), product, len(inputs)), cost


def _inner(gradient: Tensor, rows: Tensor) -> Tensor:
    return (gradient.to(rows) * gram(rows)).sum()
