"""Scale and shift of normalisation layers, y = w * x^ + b with x^ the normalised input: exact blocks.

    df/dw_c = sum_t x^_{c,t} g_{c,t},      df/db_c = sum_t g_{c,t}

Batch norm is taken in evaluation mode only: in training mode each output depends on the whole batch, so that a data point
has no Jacobian of its own (``symlab.kfac.capture`` refuses it).
"""

import torch
from torch import Tensor, nn

from symlab.kfac.rules.base import BlockRule, ExactBlock, RuleOptions


class ChannelScale(ExactBlock):
    """Features are the second dimension: BatchNorm, GroupNorm."""

    def __init__(self, name: str, module: nn.Module):
        super().__init__(name)
        self.module = module

    def normalised(self, inputs: Tensor) -> Tensor:
        module = self.module
        if isinstance(module, nn.GroupNorm):
            return nn.functional.group_norm(inputs, module.num_groups, eps=module.eps)
        assert isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d)
        return nn.functional.batch_norm(inputs, module.running_mean, module.running_var, eps=module.eps)

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return (
            (self.normalised(inputs) * gradients).flatten(2).sum(2)
            if inputs.dim() > 2
            else self.normalised(inputs) * gradients
        )


class ChannelShift(ExactBlock):
    outputs_see_inputs = False

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.flatten(2).sum(2) if gradients.dim() > 2 else gradients


class TrailingScale(ExactBlock):
    """Features are the trailing dimensions: LayerNorm."""

    def __init__(self, name: str, module: nn.LayerNorm, scale: bool):
        super().__init__(name)
        self.module, self.scale = module, scale

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        if self.scale:
            gradients = gradients * nn.functional.layer_norm(inputs, self.module.normalized_shape, eps=self.module.eps)
        features = torch.Size(self.module.normalized_shape).numel()
        return gradients.reshape(len(gradients), -1, features).sum(1)


def channel_rules(module: nn.Module, options: RuleOptions) -> list[BlockRule]:
    return [ChannelScale("weight", module), ChannelShift("bias")]


def layer_norm_rules(module: nn.Module, options: RuleOptions) -> list[BlockRule]:
    assert isinstance(module, nn.LayerNorm)
    rules: list[BlockRule] = [TrailingScale("weight", module, scale=True)]
    return [*rules, TrailingScale("bias", module, scale=False)] if module.bias is not None else rules
