"""EquiNAS' backbone (App. B): a lifting and seven group convolutions, each followed by batch normalisation and ReLU.

The second half has twice the channels. An average pooling follows the layers of ``pooled_after`` (every second one; for the
larger images of Galaxy10 and ISIC also the fifth and the seventh). At the end the average over the group and over space,
then two linear layers with batch normalisation and ReLU between. All networks have the same channels once expanded to a
standard convolution: ``channels`` of the first half, 128 in the paper, which are 16 for D4.

# Paper: the text has no pooling over space at the end; released parameter counts show one (256 inputs of the first linear
# layer on rotMNIST, whose last feature map has 2 x 2 pixels). Released: no pooling over the group.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from equinas.convolution import SymmetricConvolution
from equinas.expansion import KernelShape
from equinas.mixed import MixedConvolution, PathwayConvolution
from equinas.normalisation import GroupBatchNorm
from equinas.pooling import PooledLinear, SymmetricAveragePool
from equinas.relaxation import StateOption, relax
from symlab.errors import ConfigError
from symlab.groups import D4, GROUPS, Group, named

WHOLE = D4  # the group whose elements label channels, in all networks
ALL_GROUPS = tuple(map(str, GROUPS))
POOLED_AFTER = (2, 4, 6, 8)


class Block(nn.Module):
    """Convolution, batch normalisation, ReLU and, where asked for, pooling."""

    def __init__(self, convolution: nn.Module, group: Group, channels: int, is_pooled: bool):
        super().__init__()
        self.convolution = convolution
        self.normalisation = GroupBatchNorm(group, channels, WHOLE)
        self.activation = nn.ReLU()
        self.pooling = SymmetricAveragePool() if is_pooled else nn.Identity()

    def forward(self, features: Tensor) -> Tensor:
        return self.pooling(self.activation(self.normalisation(self.convolution(features))))


class Head(nn.Module):
    """Averages, linear, batch normalisation, ReLU, linear."""

    def __init__(self, group: Group, channels: int, hidden: int, n_outputs: int):
        super().__init__()
        self.pooled = PooledLinear(group, channels, hidden, WHOLE)
        self.normalisation = nn.BatchNorm1d(hidden)
        self.activation = nn.ReLU()
        self.output = nn.Linear(hidden, n_outputs)

    def forward(self, features: Tensor) -> Tensor:
        return self.output(self.activation(self.normalisation(self.pooled(features))))


class Backbone(nn.Module):
    """``convolution`` makes the layer of a shape; ``group`` is that of batch normalisations and of the final average."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        convolution: Callable[[KernelShape], nn.Module],
        group: Group,
        layers: int,
        channels: int,
        kernel_size: int,
        hidden: int,
        pooled_after: Sequence[int],
    ):
        super().__init__()
        if len(input_shape) != 3 or input_shape[1] != input_shape[2]:
            raise ConfigError(f"rotations need square images, not inputs of shape {input_shape}: set data.resolution")
        self.input_shape = input_shape
        widths = [channels if 2 * layer < layers else 2 * channels for layer in range(layers)]
        blocks = []
        for layer, width in enumerate(widths):
            if layer == 0:
                shape = KernelShape.lifting(group, input_shape[0], width, kernel_size, WHOLE)
            else:
                shape = KernelShape.regular(group, widths[layer - 1], width, kernel_size, WHOLE)
            blocks.append(Block(convolution(shape), group, width, layer + 1 in pooled_after))
        self.blocks = nn.ModuleList(blocks)
        self.head = Head(group, widths[-1], hidden, n_outputs)

    def forward(self, images: Tensor) -> Tensor:
        for block in self.blocks:
            images = block(images)
        return self.head(images)

    def convolutions(self) -> list[nn.Module]:
        """One for each layer."""
        found = [block.convolution for block in self.blocks]
        assert all(isinstance(layer, nn.Module) for layer in found)
        return found  # type: ignore[return-value]


class EquivariantNetwork(Backbone):
    """Every layer has a group; at first the same one. With a ``prior`` all layers start as layers of that larger group and
    are relaxed, untrained: "C1 (prior: D4)" of Table 1."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        group: str = "D4",
        prior: str | None = None,
        layers: int = 8,
        channels: int = 128,
        kernel_size: int = 5,
        hidden: int = 64,
        pooled_after: Sequence[int] = POOLED_AFTER,
        weight_norm: bool = False,
    ):
        def convolution(shape: KernelShape) -> SymmetricConvolution:
            return SymmetricConvolution(shape, weight_norm)

        start = named(group if prior is None else prior)
        super().__init__(input_shape, n_outputs, convolution, start, layers, channels, kernel_size, hidden, pooled_after)
        self.relax_to([named(group)] * layers)

    @property
    def groups(self) -> list[Group]:
        """Of the layers, first to last."""
        return [layer.group for layer in self.convolutions() if isinstance(layer, SymmetricConvolution)]

    def relax_layer(
        self,
        layer: int,
        subgroup: Group,
        optimizer: torch.optim.Optimizer | None = None,
        optimizer_state: StateOption = "carry",
    ) -> None:
        """Relax one layer with its batch normalisation; with the last layer also the average over its group."""
        relax(self, f"blocks.{layer}", subgroup, optimizer, optimizer_state)
        if layer == len(self.blocks) - 1:
            relax(self, "head", subgroup, optimizer, optimizer_state)

    def relax_to(self, groups: Sequence[Group]) -> None:
        """Relax every layer whose group is not the wanted one yet."""
        for layer, (present, wanted) in enumerate(zip(self.groups, groups, strict=True)):
            if present != wanted:
                self.relax_layer(layer, wanted)


class MixedNetwork(Backbone):
    """EquiNAS_D's network: all layers are [G]-mixed. Batch normalisation and the final average are shared over
    ``shared_group``, so that a network that weighs one group alone is equivariant to it."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        groups: Sequence[str] = ALL_GROUPS,
        shared_group: str = "D4",
        layers: int = 8,
        channels: int = 128,
        kernel_size: int = 5,
        hidden: int = 64,
        pooled_after: Sequence[int] = POOLED_AFTER,
    ):
        mixed = [named(name) for name in groups]

        def convolution(shape: KernelShape) -> MixedConvolution:
            return MixedConvolution(shape, mixed)

        shared = named(shared_group)
        super().__init__(input_shape, n_outputs, convolution, shared, layers, channels, kernel_size, hidden, pooled_after)
        self.groups = mixed

    def architecture_parameters(self) -> list[nn.Parameter]:
        """Z: the logits of every layer, first to last."""
        return [layer.logits for layer in self.convolutions() if isinstance(layer, MixedConvolution)]

    def architecture(self) -> Tensor:
        """z (layers, groups)."""
        return torch.stack([logits.detach().softmax(0) for logits in self.architecture_parameters()])


class PathwayNetwork(Backbone):
    """Residual pathway priors (Finzi et al., 2021): all layers are sums of a D4 and a C1 kernel."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        shared_group: str = "D4",
        layers: int = 8,
        channels: int = 128,
        kernel_size: int = 5,
        hidden: int = 64,
        pooled_after: Sequence[int] = POOLED_AFTER,
    ):
        shared = named(shared_group)
        super().__init__(
            input_shape, n_outputs, PathwayConvolution, shared, layers, channels, kernel_size, hidden, pooled_after
        )

    def residual_weights(self) -> list[nn.Parameter]:
        """The C1 kernels, which the prior keeps small."""
        return [layer.residual_weights() for layer in self.convolutions() if isinstance(layer, PathwayConvolution)]
