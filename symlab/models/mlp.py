"""Fully-connected network on flattened inputs."""

from typing import Literal

from torch import Tensor, nn

from symlab.models.initialisation import preserve_variance

_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
_GAINS = {"relu": 2.0**0.5, "tanh": 1.0}


class MLP(nn.Module):
    """inputs (B, *input_shape) -> (B, n_outputs); ``hidden`` lists the widths between."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        hidden: list[int],
        activation: Literal["relu", "tanh"] = "relu",
    ):
        super().__init__()
        size = 1
        for extent in input_shape:
            size *= extent
        layers: list[nn.Module] = [nn.Flatten()]
        for width in hidden:
            linear = nn.Linear(size, width)
            preserve_variance(linear, _GAINS[activation])
            layers += [linear, _ACTIVATIONS[activation]()]
            size = width
        last = nn.Linear(size, n_outputs)
        preserve_variance(last, gain=1.0)
        self.layers = nn.Sequential(*layers, last)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layers(inputs)

    @property
    def readout(self) -> nn.Module:
        """The linear layer whose outputs are the network's."""
        return self.layers[-1]
