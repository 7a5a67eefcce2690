"""nn.Linear: y_t = W a_t + b on inputs (N, d) or (N, ..., d), where the dimensions between are shared positions."""

import torch
from torch import Tensor, nn

from symlab.kfac.rules.base import BlockRule, ExactBlock, RuleOptions


class LinearWeight(BlockRule):
    outputs_see_inputs = False

    def __init__(self, options: RuleOptions, with_bias: bool = False):
        self.options, self.with_bias = options, with_bias
        self.names = ("weight", "bias") if with_bias else ("weight",)

    def input_rows(self, inputs: Tensor) -> Tensor:
        if self.with_bias:
            inputs = torch.cat([inputs, inputs.new_ones(*inputs.shape[:-1], 1)], -1)
        if self.options.sharing == "reduce" and inputs.dim() > 2:
            inputs = inputs.flatten(1, -2).mean(1)
        return inputs.flatten(0, -2)[None, None, None]

    def output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        if self.options.sharing == "reduce" and gradients.dim() > 2:
            gradients = gradients.flatten(1, -2).sum(1)
        return gradients.flatten(0, -2)[None, None, None]

    def count(self, inputs: Tensor) -> int:
        return len(inputs) if self.options.sharing == "reduce" else inputs[..., 0].numel()


class LinearBias(ExactBlock):
    """Without shared positions, or once these are summed up, a bias sees the same gradients as its weight."""

    outputs_see_inputs = False

    def output_twin(self, inputs: Tensor) -> BlockRule | None:
        assert isinstance(self.twin, LinearWeight)
        return self.twin if inputs.dim() == 2 or self.twin.options.sharing == "reduce" else None

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.flatten(1, -2).sum(1) if gradients.dim() > 2 else gradients


def linear_rules(module: nn.Module, options: RuleOptions) -> list[BlockRule]:
    if module.bias is None:
        return [LinearWeight(options)]
    if options.bias == "joint":
        return [LinearWeight(options, with_bias=True)]
    weight = LinearWeight(options)
    return [weight, LinearBias("bias", twin=weight)]
