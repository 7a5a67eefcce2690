"""The networks and data on which KFAC implementations are compared: float32, ten classes, cross entropy.

    mlp    784-500-500-10 with ReLU                                                              N = 2000
    cnn    3 x [3x3 convolution (32, 64, 64 channels, zero padding 1), ReLU, 2x2 max pooling]
           on 3x32x32, flattened to 1024 features, linear layer to 10                            N = 1000
    ella   the ten layers of ELLA Table 6 with alpha = 10 and CONV layers: 3x3 convolutions with circular padding,
           polyphase pooling where the extent halves, ReLU; then 160-640-10                      N = 1000

Every network is a flat ``nn.Sequential`` (some peers accept nothing else). This module imports only torch, so that the
peers' environments can use it; the equality of ``ella`` with ``ella.network`` is checked in tests. Data are random: the cost
of exact factors does not depend on the values. Weights are drawn from N(0, 2 / fan_in), which keeps the backward signals far
from the slow subnormal numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

CLASSES = 10
ALPHA = 10
ELLA_CHANNEL_FACTORS = (1, 2, 2, 4, 4, 8, 8, 16)
ELLA_HALVING_BLOCKS = (1, 3, 5, 6, 7)  # counted from 0

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Workload:
    """A network, the shape of one input and the default number N of samples."""

    name: str
    input_shape: tuple[int, ...]
    samples: int
    layers: Callable[[], list[nn.Module]]
    description: str


class PolyphasePool(nn.Module):
    """(B, C, H, W) -> (B, C, H/2, W/2): of the four polyphase components the one with the largest absolute value."""

    def components(self, features: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 4, C, H/2, W/2), component 2 i + j holding rows of parity i and columns of parity j."""
        samples, channels, height, width = features.shape
        split = features.reshape(samples, channels, height // 2, 2, width // 2, 2)
        return split.permute(0, 3, 5, 1, 2, 4).flatten(1, 2)

    def strongest(self, features: Tensor) -> Tensor:
        """(B, C, H, W) -> (B,): the index of the component kept for each sample."""
        return self.components(features.detach()).abs().amax(dim=(2, 3, 4)).argmax(dim=1)

    def forward(self, features: Tensor) -> Tensor:
        rows = torch.arange(len(features), device=features.device)
        return self.components(features)[rows, self.strongest(features)]


def _mlp_layers() -> list[nn.Module]:
    return [nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 500), nn.ReLU(), nn.Linear(500, CLASSES)]


def _cnn_layers() -> list[nn.Module]:
    layers: list[nn.Module] = []
    for channels_in, channels_out in ((3, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return [*layers, nn.Flatten(), nn.Linear(64 * 4 * 4, CLASSES)]


def _ella_layers() -> list[nn.Module]:
    layers: list[nn.Module] = []
    channels = 3
    for block, factor in enumerate(ELLA_CHANNEL_FACTORS):
        layers.append(nn.Conv2d(channels, factor * ALPHA, 3, padding=1, padding_mode="circular"))
        if block in ELLA_HALVING_BLOCKS:
            layers.append(PolyphasePool())
        layers.append(nn.ReLU())
        channels = factor * ALPHA
    return [*layers, nn.Flatten(), nn.Linear(channels, 64 * ALPHA), nn.ReLU(), nn.Linear(64 * ALPHA, CLASSES)]


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("mlp", (784,), 2000, _mlp_layers, "MLP 784-500-500-10"),
        Workload("cnn", (3, 32, 32), 1000, _cnn_layers, "CNN 32-64-64 3x3 on 3x32x32"),
        Workload("ella", (3, 32, 32), 1000, _ella_layers, "ELLA Table 6 network, alpha = 10"),
    )
}


def build_network(name: str, seed: int = 0) -> nn.Sequential:
    """The network of a workload, the same weights in every process."""
    generator = torch.Generator().manual_seed(seed)
    network = nn.Sequential(*WORKLOADS[name].layers())
    for layer in network:
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            nn.init.normal_(layer.weight, std=(2.0 / layer.weight[0].numel()) ** 0.5, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return network


def build_data(name: str, samples: int, seed: int = 1) -> Batch:
    """Inputs (N, *input_shape) from N(0, 1) and labels (N,), the same in every process."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(samples, *WORKLOADS[name].input_shape, generator=generator)
    return inputs, torch.randint(CLASSES, (samples,), generator=generator)


def split_batches(data: Batch, batch_size: int) -> list[Batch]:
    """Consecutive batches, as views: a fit is timed without the cost of a data loader."""
    inputs, labels = data
    return list(zip(inputs.split(batch_size), labels.split(batch_size)))


def forward_backward(network: nn.Module, batches: list[Batch]) -> None:
    """One gradient of the mean loss over all batches: the reference that a fit is compared to."""
    samples = sum(len(labels) for _, labels in batches)
    network.zero_grad(set_to_none=True)
    for inputs, labels in batches:
        (nn.functional.cross_entropy(network(inputs), labels, reduction="sum") / samples).backward()
