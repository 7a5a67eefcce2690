"""ResNet with Fixup (``symlab.models.fixup``) for small images, as in LILA: three stages of widths w, 2w, 4w.

ResNet-8-16 is ``blocks=1, width=16``: depth 6 blocks + 2 layers. (N, C, H, W) -> (N, n_outputs); the second and third stage
halve height and width.
"""

from torch import Tensor, nn
from torch.nn import functional

from symlab.models.fixup import ScalarBias, ScalarScale, convolution, draw_kernel, start_at_zero


class FixupBlock(nn.Module):
    """relu(x + branch(x)). Where the width doubles, the shortcut takes every second pixel and adds channels of zeros."""

    def __init__(self, channels_in: int, channels_out: int, stride: int, blocks: int):
        super().__init__()
        self.stride, self.new_channels = stride, channels_out - channels_in
        self.bias1a, self.bias1b, self.bias2a, self.bias2b = (ScalarBias() for _ in range(4))
        self.conv1 = convolution(channels_in, channels_out, stride=stride)
        self.conv2 = convolution(channels_out, channels_out)
        self.scale = ScalarScale()
        draw_kernel(self.conv1, blocks)
        start_at_zero(self.conv2)

    def forward(self, features: Tensor) -> Tensor:
        shifted = self.bias1a(features)
        branch = functional.relu(self.bias1b(self.conv1(shifted)))
        branch = self.bias2b(self.scale(self.conv2(self.bias2a(branch))))
        return functional.relu(branch + self._shortcut(features, shifted))

    def _shortcut(self, features: Tensor, shifted: Tensor) -> Tensor:
        if self.stride == 1:
            return features
        # The shortcut that changes the size starts from the shifted features, the other one from the plain ones.
        strided = shifted[:, :, :: self.stride, :: self.stride]
        return functional.pad(strided, (0, 0, 0, 0, 0, self.new_channels))


class FixupResNet(nn.Module):
    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, width: int = 16, blocks: int = 1):
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.conv = convolution(input_shape[0], width)
        self.bias1, self.bias2 = ScalarBias(), ScalarBias()
        layers, channels = [], width
        for stage, channels_out in enumerate(widths):
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                layers.append(FixupBlock(channels, channels_out, stride, 3 * blocks))
                channels = channels_out
        self.blocks = nn.Sequential(*layers)
        self.head = nn.Linear(channels, n_outputs)
        start_at_zero(self.head)

    def forward(self, inputs: Tensor) -> Tensor:
        features = self.blocks(functional.relu(self.bias1(self.conv(inputs))))
        return self.head(self.bias2(features.mean((2, 3))))
