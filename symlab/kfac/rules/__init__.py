"""Rules: how each kind of layer's parameters see the data."""

from torch import nn

from symlab.kfac.rules.base import BlockRule, ExactBlock, RuleOptions, Rules
from symlab.kfac.rules.convolution import convolution_rules
from symlab.kfac.rules.linear import linear_rules
from symlab.kfac.rules.normalisation import channel_rules, layer_norm_rules

STANDARD_RULES: Rules = {
    nn.Linear: linear_rules,
    nn.Conv2d: convolution_rules,
    nn.BatchNorm1d: channel_rules,
    nn.BatchNorm2d: channel_rules,
    nn.GroupNorm: channel_rules,
    nn.LayerNorm: layer_norm_rules,
}

__all__ = ["STANDARD_RULES", "BlockRule", "ExactBlock", "RuleOptions", "Rules"]
