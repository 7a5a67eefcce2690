"""Wide ResNet (Zagoruyko & Komodakis, 2016) with Fixup (``symlab.models.fixup``): WRN16-4 is ``depth=16, widening=4``.

Three stages of widths 16, 32, 64 times ``widening`` with (depth - 4) / 6 pre-activation blocks each; (N, C, H, W) ->
(N, n_outputs). Where a block changes the width, its shortcut is a 1x1 convolution of the activated features.
"""

from torch import Tensor, nn
from torch.nn import functional

from symlab.errors import ConfigError
from symlab.models.fixup import ScalarBias, ScalarScale, convolution, draw_kernel, start_at_zero


class WideFixupBlock(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int, blocks: int):
        super().__init__()
        self.bias1, self.bias2, self.bias3, self.bias4 = (ScalarBias() for _ in range(4))
        self.conv1 = convolution(channels_in, channels_out, stride=stride)
        self.conv2 = convolution(channels_out, channels_out)
        self.scale = ScalarScale()
        self.shortcut = None if channels_in == channels_out else convolution(channels_in, channels_out, 1, stride)
        draw_kernel(self.conv1, blocks)
        start_at_zero(self.conv2)
        if self.shortcut is not None:
            draw_kernel(self.shortcut)

    def forward(self, features: Tensor) -> Tensor:
        activated = functional.relu(self.bias1(features))
        branch = self.bias3(functional.relu(self.bias2(self.conv1(activated))))
        branch = self.bias4(self.scale(self.conv2(branch)))
        return branch + (features if self.shortcut is None else self.shortcut(activated))


class FixupWideResNet(nn.Module):
    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, depth: int = 16, widening: int = 4):
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise ConfigError(f"model.depth={depth} does not fit: a wide ResNet has 6 n + 4 layers, e.g. 10, 16, 22 or 28")
        each = (depth - 4) // 6
        self.conv = convolution(input_shape[0], 16)
        self.bias1, self.bias2 = ScalarBias(), ScalarBias()
        layers, channels = [], 16
        for stage in range(3):
            for block in range(each):
                stride = 2 if stage and not block else 1
                layers.append(WideFixupBlock(channels, 16 * 2**stage * widening, stride, 3 * each))
                channels = 16 * 2**stage * widening
        self.blocks = nn.Sequential(*layers)
        self.head = nn.Linear(channels, n_outputs)
        start_at_zero(self.head)

    def forward(self, inputs: Tensor) -> Tensor:
        features = functional.relu(self.blocks(self.bias1(self.conv(inputs))))
        return self.head(self.bias2(features.mean((2, 3))))
