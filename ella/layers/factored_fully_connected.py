"""F-FC: an unconstrained map factored between its input and its output space, ELLA Eq. 5.

    x1(c', c)      = sum_{x, y} theta2(c', c, x, y) x(c, x, y) + b2(c')
    y(c', x', y')  = sum_c theta1(c', c, x', y') x1(c', c) + b1(x', y')

theta2 (U) reads every channel's whole map, theta1 (V) writes it to every pixel: c' c (x y + x' y') weights instead of
c' c x y x' y'. The output is computed at its final resolution, so nothing is pooled.

KFAC, App. C.1: theta2 is a matrix (c', c xy) applied to the channel c = 1..C alone, one after the other; its input at
"position" c is x(c, .) in the columns of channel c and zero elsewhere. So the sum of a a^T over data points and positions is
block-diagonal, C blocks xy by xy, and is kept that way. theta1 is a matrix (x'y', c' c), whose positions are the output
channels c': C' blocks c by c. Both count N C (N C') rows, the paper's 1/(N C).

# The setting of shared positions (expand, reduce) does not apply: at each position other columns are used, so nothing is
# shared that could be averaged, and the average would be a dense matrix. C.1 is the expand setting. Biases always have
# blocks of their own, for a last column would not fit a block-diagonal factor.
"""

from typing import Any

import torch
from torch import Tensor, nn

from symlab.kfac.rules import BlockRule, ExactBlock, RuleOptions
from symlab.signatures import with_signature


class FactoredFullyConnected(nn.Module):
    """(B, c, extent_in, extent_in) -> (B, c', extent_out, extent_out)."""

    def __init__(self, channels_in: int, channels_out: int, extent_in: int, extent_out: int):
        super().__init__()
        self.extent_out = extent_out
        self.from_space = FromSpace(channels_in, channels_out, extent_in**2)
        self.to_space = ToSpace(channels_in, channels_out, extent_out**2)
        nn.init.normal_(self.from_space.weight, std=1 / extent_in)
        nn.init.normal_(self.to_space.weight, std=(2 / channels_in) ** 0.5)

    def forward(self, features: Tensor) -> Tensor:
        return self.to_space(self.from_space(features.flatten(2))).unflatten(2, (self.extent_out, self.extent_out))

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        """Multiply the map (without its offset) by a factor."""
        self.to_space.weight.mul_(factor)


class FromSpace(nn.Module):
    """theta2 (c', c, S): (B, c, S) -> (B, c', c), with one bias for each c'."""

    def __init__(self, channels_in: int, channels_out: int, sites: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels_out, channels_in, sites))
        self.bias = nn.Parameter(torch.zeros(channels_out))

    def forward(self, features: Tensor) -> Tensor:
        return read_space(features, self.weight) + self.bias[:, None]

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return [FromSpaceWeight(), FromSpaceBias("bias")]


class ToSpace(nn.Module):
    """theta1 (S', c', c): (B, c', c) -> (B, c', S'), with one bias for each site that all channels share."""

    def __init__(self, channels_in: int, channels_out: int, sites: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(sites, channels_out, channels_in))
        self.bias = nn.Parameter(torch.zeros(sites))

    def forward(self, features: Tensor) -> Tensor:
        return write_space(features, self.weight) + self.bias

    def curvature_rules(self, options: RuleOptions) -> list[BlockRule]:
        return [ToSpaceWeight(), ToSpaceBias("bias")]


def read_space(features: Tensor, weight: Tensor) -> Tensor:
    """(B, c, S), theta2 (c', c, S) -> (B, c', c): one product (B, S) x (S, c') for each c."""
    return _stacked_product(features.transpose(0, 1), weight.permute(1, 2, 0)).permute(1, 2, 0)


def write_space(features: Tensor, weight: Tensor) -> Tensor:
    """(B, c', c), theta1 (S', c', c) -> (B, c', S'): one product (B, c) x (c, S') for each c'."""
    return _stacked_product(features.transpose(0, 1), weight.permute(1, 2, 0)).transpose(0, 1)


def _stacked_product(left: Tensor, right: Tensor) -> Tensor:
    """(p, B, k) @ (p, k, m). Maps whose channels lie side by side are laid out anew before, not within, so that the gradient
    finds them that way too."""
    return _StackedProduct.apply(left.contiguous() if 1 not in left.stride()[1:] else left, right)


class _StackedProduct(torch.autograd.Function):
    """(p, B, k) @ (p, k, m), with gradients laid out so that each of the three is one call of a batched product: torch's own
    falls back to p products, with copies, where neither of the last two dimensions lies side by side."""

    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(left: Tensor, right: Tensor) -> Tensor:
        return left @ right

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = ctx.saved_tensors
        gradient = gradient.contiguous()
        in_left = gradient @ right.mT if ctx.needs_input_grad[0] else None
        in_right = left.mT @ gradient if ctx.needs_input_grad[1] else None
        return in_left, in_right


class FromSpaceWeight(BlockRule):
    names = ("weight",)
    outputs_see_inputs = False

    def input_rows(self, inputs: Tensor) -> Tensor:
        return inputs.transpose(0, 1)[None, :, None]  # (1, c, 1, B, S)

    def output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.mT.flatten(0, 1)[None, None, None]  # (1, 1, 1, B c, c')

    def count(self, inputs: Tensor) -> int:
        return inputs.shape[0] * inputs.shape[1]


class FromSpaceBias(ExactBlock):
    outputs_see_inputs = False

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.sum(2)


class ToSpaceWeight(BlockRule):
    names = ("weight",)
    outputs_see_inputs = False

    def input_rows(self, inputs: Tensor) -> Tensor:
        return inputs.transpose(0, 1)[None, :, None]  # (1, c', 1, B, c)

    def output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.flatten(0, 1)[None, None, None]  # (1, 1, 1, B c', S')

    def count(self, inputs: Tensor) -> int:
        return inputs.shape[0] * inputs.shape[1]


class ToSpaceBias(ExactBlock):
    outputs_see_inputs = False

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.sum(1)
