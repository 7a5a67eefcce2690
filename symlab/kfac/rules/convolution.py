"""nn.Conv2d with any padding mode, stride, dilation and groups.

The weight (C', C/p, k, k) of p groups is p matrices (C'/p, D), D = C/p k^2. Positions t are the pixels of the output, a_t
the patch of the padded input under the kernel, g_t the gradient at that pixel.

# Peers take patches of a zero-padded input whatever the padding mode; here the layer's own padding is applied first.
"""

import torch
from torch import Tensor, nn

from symlab.kfac.grams import accumulate_gram
from symlab.kfac.patches import has_patch_gram, pad_like, patch_gram
from symlab.kfac.rules.base import BlockRule, ExactBlock, RuleOptions

# Of single numbers. The many small operations of ``patch_gram`` take as long as this many in one matrix product.
FEW_PRODUCTS = 10**8


class ConvolutionWeight(BlockRule):
    outputs_see_inputs = False

    def __init__(self, module: nn.Conv2d, options: RuleOptions, with_bias: bool = False):
        self.module, self.options, self.with_bias = module, options, with_bias
        self.names = ("weight", "bias") if with_bias else ("weight",)

    def input_rows(self, inputs: Tensor) -> Tensor:
        module = self.module
        patches = nn.functional.unfold(
            pad_like(module, inputs), module.kernel_size, dilation=module.dilation, stride=module.stride
        )  # (N, C k^2, L)
        patches = patches.unflatten(1, (module.groups, -1))
        if self.options.sharing == "reduce":
            patches = patches.mean(-1, keepdim=True)
        if self.with_bias:
            patches = torch.cat([patches, torch.ones_like(patches[:, :, :1])], 2)
        # Few positions: one tall matrix; many: a stack of transposed patches that need no copy.
        rows = patches.permute(1, 0, 3, 2)[:, None]
        return rows if patches.shape[-1] > patches.shape[2] else rows.flatten(2, 3)[:, :, None]

    def accumulate_inputs(self, total: Tensor, inputs: Tensor) -> None:
        products = self.count(inputs) * total.shape[-1] ** 2
        expanded = self.options.sharing == "expand" and not self.with_bias
        if expanded and products > FEW_PRODUCTS and has_patch_gram(self.module, inputs):
            total += patch_gram(self.module, inputs)
        else:
            accumulate_gram(total, self.input_rows(inputs))

    def output_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        groups = self.module.groups
        if self.options.sharing == "reduce":
            return gradients.sum((2, 3)).unflatten(1, (groups, -1)).transpose(0, 1)[:, None, None]
        if groups == 1 and gradients.is_contiguous(memory_format=torch.channels_last):
            return gradients.permute(0, 2, 3, 1).flatten(0, 2)[None, None, None]
        return gradients.flatten(2).unflatten(1, (groups, -1)).permute(1, 0, 3, 2)[:, None]

    def count(self, inputs: Tensor) -> int:
        if self.options.sharing == "reduce":
            return len(inputs)
        module, padded = self.module, pad_like(self.module, inputs[:1, :1])
        positions = 1
        for axis in range(2):
            extent = module.dilation[axis] * (module.kernel_size[axis] - 1) + 1
            positions *= (padded.shape[2 + axis] - extent) // module.stride[axis] + 1
        return len(inputs) * positions


class ConvolutionBias(ExactBlock):
    outputs_see_inputs = False

    def gradient_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.sum((2, 3))


def convolution_rules(module: nn.Module, options: RuleOptions) -> list[BlockRule]:
    assert isinstance(module, nn.Conv2d)
    if module.bias is None:
        return [ConvolutionWeight(module, options)]
    if options.bias == "joint":
        return [ConvolutionWeight(module, options, with_bias=True)]
    return [ConvolutionWeight(module, options), ConvolutionBias("bias")]
