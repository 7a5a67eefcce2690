"""LeNet-5 as LILA uses it: (N, C, H, W) -> (N, n_outputs).

conv 6@5, pool 2, conv 16@3 (5 from 32 pixels on), pool 2, conv 120@5, linear 84, linear n_outputs; tanh after each, max
pooling, no padding. On 28 and on 32 pixels the last convolution sees everything at once.
"""

from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.models.initialisation import preserve_variance

SMALLEST = 28  # pixels


class LeNet(nn.Module):
    def __init__(self, input_shape: tuple[int, ...], n_outputs: int):
        super().__init__()
        channels, height, width = input_shape
        if height != width or height < SMALLEST:
            raise ConfigError(
                f"LeNet needs square images of at least {SMALLEST} pixels, not {height} x {width}: set data.resolution"
            )
        middle = 3 if height < 32 else 5
        left = ((height - 4) // 2 - middle + 1) // 2 - 4  # pixels after the third convolution
        layers: list[nn.Module] = [
            nn.Conv2d(channels, 6, 5),
            nn.MaxPool2d(2),
            nn.Tanh(),  # rises everywhere: after pooling it gives the same, on a quarter of the values
            nn.Conv2d(6, 16, middle),
            nn.MaxPool2d(2),
            nn.Tanh(),
            nn.Conv2d(16, 120, 5),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(120 * left**2, 84),
            nn.Tanh(),
            nn.Linear(84, n_outputs),
        ]
        for layer in layers:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                preserve_variance(layer, gain=1.0)
        self.layers = nn.Sequential(*layers)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layers(inputs)

    @property
    def readout(self) -> nn.Module:
        """The linear layer whose outputs are the network's."""
        return self.layers[-1]
