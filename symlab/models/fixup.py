r"""Residual blocks that train without normalisation (Fixup: Zhang, Dauphin & Ma, 2019): scalars instead of batch norm.

A residual branch starts as zero, so that a network of any depth starts as a shallow one:

    conv1 ~ N(0, 2 / (C_out k^2) / L),   conv2 = 0,   last linear layer = 0,   every bias 0 and every scale 1

with L residual blocks. Scalars act on whole feature maps (N, ...). They are few and each of them moves everything, so they
learn at a tenth of the learning rate; a learner reads that from ``learning_rate_factors``.
"""

import math

import torch
from torch import Tensor, nn

from symlab.kfac.rules import BlockRule, ExactBlock, RuleOptions

SCALAR_LEARNING_RATE = 0.1  # of the learning rate of the other weights


class _ScalarShift(ExactBlock):
    r"""df/db = sum_t g_t."""

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.flatten(1).sum(1, keepdim=True)


class _ScalarScale(ExactBlock):
    r"""df/ds = sum_t x_t g_t."""

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return (inputs * gradients).flatten(1).sum(1, keepdim=True)


class ScalarBias(nn.Module):
    """x + b with one number b."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, features: Tensor) -> Tensor:
        return features + self.bias

    def learning_rate_factors(self) -> dict[str, float]:
        return {"bias": SCALAR_LEARNING_RATE}

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return [_ScalarShift("bias")]


class ScalarScale(nn.Module):
    """s x with one number s."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, features: Tensor) -> Tensor:
        return features * self.weight

    def learning_rate_factors(self) -> dict[str, float]:
        return {"weight": SCALAR_LEARNING_RATE}

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return [_ScalarScale("weight")]


def convolution(channels_in: int, channels_out: int, kernel_size: int = 3, stride: int = 1) -> nn.Conv2d:
    """Without a bias (scalars shift), zero padding that keeps the size at stride 1."""
    return nn.Conv2d(channels_in, channels_out, kernel_size, stride, kernel_size // 2, bias=False)


def draw_kernel(layer: nn.Conv2d, blocks: int = 1) -> None:
    """Draw ``layer.weight`` from N(0, 2 / (C_out k^2) / blocks)."""
    fan_out = layer.out_channels * math.prod(layer.kernel_size)
    nn.init.normal_(layer.weight, std=(2 / fan_out / blocks) ** 0.5)


def start_at_zero(layer: nn.Conv2d | nn.Linear) -> None:
    nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
