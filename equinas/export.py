"""A trained network as a plain torch CNN with the same outputs: only modules of torch.nn, nothing of this package needed.

Kernels are expanded (and mixed ones summed, Eq. 11), numbers shared over a group are repeated, and the average over the
group becomes part of the first linear layer. In evaluation mode both compute the same.
"""

import torch
from torch import Tensor, nn

from equinas.convolution import SymmetricConvolution
from equinas.mixed import SummedConvolution
from equinas.network import Backbone, Block
from equinas.normalisation import GroupBatchNorm
from equinas.pooling import SymmetricAveragePool, symmetric_window
from symlab.errors import ConfigError


@torch.no_grad()
def as_plain(network: Backbone) -> nn.Sequential:
    """In evaluation mode, on the network's device."""
    extent = network.input_shape[-1]
    modules: list[nn.Module] = []
    for block in network.blocks:
        assert isinstance(block, Block)
        modules += [_plain_convolution(block.convolution), _plain_normalisation(block.normalisation), nn.ReLU()]
        if isinstance(block.pooling, SymmetricAveragePool):
            modules.append(symmetric_window(extent))
            extent = (extent + 1) // 2
    head = network.head
    weight, bias = head.pooled.expanded_weight(), head.pooled.linear.bias
    modules += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), _linear(weight, bias), _copy_of(head.normalisation)]
    modules += [nn.ReLU(), _linear(head.output.weight, head.output.bias)]
    return nn.Sequential(*modules).to(weight.device, weight.dtype).eval()


def _plain_convolution(layer: nn.Module) -> nn.Conv2d:
    if not isinstance(layer, SymmetricConvolution | SummedConvolution):
        raise ConfigError(f"{type(layer).__name__} is no convolution of this package")
    kernel = layer.kernel()
    plain = nn.Conv2d(kernel.shape[1], kernel.shape[0], kernel.shape[-1], padding=kernel.shape[-1] // 2, bias=False)
    plain.weight = nn.Parameter(kernel.clone())
    return plain


def _plain_normalisation(layer: GroupBatchNorm) -> nn.BatchNorm2d:
    plain = nn.BatchNorm2d(layer.channels, eps=layer.normalisation.eps, momentum=layer.normalisation.momentum)
    state = layer.normalisation.state_dict()
    plain.load_state_dict({name: layer.expanded(value) if value.ndim else value for name, value in state.items()})
    return plain


def _copy_of(layer: nn.BatchNorm1d) -> nn.BatchNorm1d:
    plain = nn.BatchNorm1d(layer.num_features, eps=layer.eps, momentum=layer.momentum)
    plain.load_state_dict(layer.state_dict())
    return plain


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    plain = nn.Linear(weight.shape[1], weight.shape[0])
    plain.weight, plain.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.detach().clone())
    return plain
