import torch
from torch import nn

from symlab.models.initialisation import preserve_variance


def test_a_deep_relu_network_keeps_the_second_moment():
    torch.manual_seed(0)
    signal = torch.randn(2000, 256)
    for _ in range(10):
        layer = nn.Linear(256, 256)
        preserve_variance(layer)
        signal = layer(signal).relu()
    # E[relu(y)^2] = E[y^2] / 2 and E[y^2] = 2 E[x^2], so the second moment of the signal stays 1.
    assert 0.5 < signal.square().mean().item() < 2.0


def test_convolutions_count_their_whole_field_as_input():
    torch.manual_seed(0)
    layer = nn.Conv2d(16, 64, 5, bias=False)
    preserve_variance(layer, gain=1.0)
    assert abs(layer.weight.std().item() * (16 * 25) ** 0.5 - 1) < 0.02
