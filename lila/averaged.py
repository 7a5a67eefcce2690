"""A network averaged over transformed copies of its input, Eq. 1, at training and at test time.

    f^(x) = 1/S sum_s f(x_s),   x_s = g(x, epsilon_s; eta)

Copies are made first and averaged over afterwards, so that several passes can look at the same draws:

    copies = averaged.copies(inputs, generator)     (N, S, ...), differentiable in eta
    logits = averaged(copies)                       (N, C)

``symlab.kfac`` sees a model whose layers are shown S rows of each data point (n-major) and reduces over them: its GGN is
that of Eqs. 11-12, its Kronecker factors those of Eqs. 14-15. ``-cross_entropy(averaged(copies))`` is the bound of Eq. 10.
"""

import torch
from torch import Tensor, nn

from lila.distribution import Distribution
from symlab.copies import CopyAverage
from symlab.errors import ConfigError


class AveragedNetwork(nn.Module):
    """``distribution`` may be trained apart from the weights: it is named a hyperparameter, without prior or curvature.

    ``samples``: S, copies of an input in training and in fits. ``prediction_samples``: at test time; None takes as many."""

    def __init__(self, network: nn.Module, distribution: Distribution, samples: int, prediction_samples: int | None = None):
        super().__init__()
        predicting = samples if prediction_samples is None else prediction_samples
        for name, count in (("samples", samples), ("prediction_samples", predicting)):
            if count < 1:
                raise ConfigError(f"{name}={count} does not fit: a network is averaged over at least one copy")
        self.network, self.distribution, self.average = network, distribution, CopyAverage()
        self.samples, self.prediction_samples = samples, predicting

    def hyperparameters(self) -> list[str]:
        return [name for name, _ in self.named_parameters() if name.startswith("distribution.")]

    def copies(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """(N, ...) -> (N, S, ...), each input with draws of its own."""
        return self._transformed(inputs, len(inputs), self.samples, generator)

    def common_copies(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """(N, ...) -> (N, prediction_samples, ...), the same draws for all inputs: no input's copies depend on its
        neighbours."""
        return self._transformed(inputs, 1, self.prediction_samples, generator)

    def forward(self, copies: Tensor) -> Tensor:
        """(N, S, ...) -> (N, C). Before a linear readout or after it the average is the same; before it, the readout and its
        gradients take one S-th of the time."""
        n_data = len(copies)
        readout = readout_of(self.network)
        if readout is None:
            return self.average(self.network(copies.flatten(0, 1)), n_data)
        averaging = readout.register_forward_pre_hook(lambda module, given: (self.average(given[0], n_data),))
        try:
            return self.network(copies.flatten(0, 1))
        finally:
            averaging.remove()

    def _transformed(self, inputs: Tensor, count: int, samples: int, generator: torch.Generator) -> Tensor:
        noise = self.distribution.noise(count, samples, generator)
        return self.distribution.transform(inputs, noise.to(inputs.device))


def readout_of(network: nn.Module) -> nn.Linear | None:
    """The linear layer that gives a network its outputs, where that can be told: the end of a chain of layers, or what the
    network itself calls its ``readout``."""
    while isinstance(network, nn.Sequential) and len(network):
        network = network[-1]
    last = getattr(network, "readout", network)
    return last if type(last) is nn.Linear else None
