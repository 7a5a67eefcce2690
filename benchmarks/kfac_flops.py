"""Floating-point operations of an exact KFAC fit, to compare the speed reached with the measured peak of matrix products.

One multiply-add counts as two operations. With C classes and a layer of d inputs (patch size of a convolution), o outputs
and T positions (1 for a linear layer), per sample

                      forward      input factor A      backward signals      gradient factor B
    naive             2 T d o      2 T d^2             2 T d o  x C          2 T o^2  x C
    optimised         2 T d o      T d^2               2 T d o  x (C - 1)    T o^2  x (C - 1)

The first layer needs no backward product. Optimised: products of a matrix with its own transpose are symmetric, so half is
enough; the softmax GGN has rank C - 1; and A of a k x k convolution of stride 1 with padding consists of correlations of the
c input channels, one for each of the (2 k - 1)^2 lags, of which opposite ones are transposes: 2 T c^2 ((2 k - 1)^2 + 1) / 2.
"""

from dataclasses import dataclass

import torch
from torch import nn

from benchmarks.kfac_workloads import CLASSES, WORKLOADS, build_network


@dataclass(frozen=True)
class LayerSize:
    """Sizes of one layer with weights; ``lags`` > 0 for a convolution whose A can be made of correlations."""

    inputs: int
    outputs: int
    positions: int
    channels: int
    lags: int


def layer_sizes(network: nn.Sequential, input_shape: tuple[int, ...]) -> list[LayerSize]:
    """The linear and convolutional layers of a sequential network, in order."""
    sizes = []
    features = torch.zeros(1, *input_shape)
    with torch.no_grad():
        for layer in network:
            features = layer(features)
            if isinstance(layer, nn.Linear):
                sizes.append(LayerSize(layer.in_features, layer.out_features, 1, layer.in_features, 0))
            elif isinstance(layer, nn.Conv2d):
                side = layer.kernel_size[0]
                lags = ((2 * side - 1) ** 2 + 1) // 2 if layer.stride == (1, 1) else 0
                positions = features.shape[2] * features.shape[3]
                sizes.append(LayerSize(layer.weight[0].numel(), layer.out_channels, positions, layer.in_channels, lags))
    return sizes


def naive_flops(name: str, samples: int) -> float:
    """Operations of a fit that uses none of the savings."""
    total = 0
    for index, layer in enumerate(layer_sizes(build_network(name), WORKLOADS[name].input_shape)):
        product = layer.inputs * layer.outputs
        per_position = product + layer.inputs**2 + CLASSES * layer.outputs**2 + (CLASSES * product if index else 0)
        total += 2 * layer.positions * per_position
    return float(total * samples)


def optimised_flops(name: str, samples: int) -> float:
    """Operations that remain with every exact saving of the module's docstring."""
    total = 0.0
    signals = CLASSES - 1
    for index, layer in enumerate(layer_sizes(build_network(name), WORKLOADS[name].input_shape)):
        product = 2 * layer.inputs * layer.outputs
        input_factor = min(2 * layer.lags * layer.channels**2 or layer.inputs**2, layer.inputs**2)
        per_position = product + input_factor + signals * layer.outputs**2 + (signals * product if index else 0)
        total += layer.positions * per_position
    return total * samples
