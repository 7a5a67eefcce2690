"""What is compared computes the same, and everything that is timed runs."""

import torch

from benchmarks import equinas_layers
from benchmarks.bench_equinas import medians
from benchmarks.equinas_layers import expansion, layers, pass_through


def test_the_mixed_layer_and_six_convolutions_agree(monkeypatch):
    monkeypatch.setattr(equinas_layers, "CHANNELS", 16)
    torch.manual_seed(0)
    built, features = layers(3), torch.randn(2, 16, 6, 6)
    torch.testing.assert_close(built["mixed"](features), built["apart"](features), rtol=1e-4, atol=1e-5)
    assert built["plain"](features).shape == built["group"](features).shape


def test_calls_take_turns(monkeypatch):
    monkeypatch.setattr(equinas_layers, "CHANNELS", 8)
    calls = {name: pass_through(layer) for name, layer in layers(3).items()} | {"expansion": expansion(3)}
    assert all(value > 0 for value in medians(calls, 1).values())
