"""The layer of ``symlab.circular_convolution``: nn.Conv2d with circular padding that keeps the size, faster."""

from torch import Tensor, nn

from symlab.circular_convolution import circular_convolution
from symlab.kfac.rules import BlockRule, RuleOptions
from symlab.kfac.rules.convolution import convolution_rules


class CircularConvolution(nn.Conv2d):
    """(N, C, H, W) -> (N, C', H, W); the kernel size is odd."""

    def __init__(self, channels_in: int, channels_out: int, kernel_size: int = 3, bias: bool = True):
        super().__init__(
            channels_in, channels_out, kernel_size, padding=kernel_size // 2, padding_mode="circular", bias=bias
        )

    def forward(self, features: Tensor) -> Tensor:
        return circular_convolution(features, self.weight, self.bias)

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return convolution_rules(self, options)
