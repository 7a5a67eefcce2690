import pytest
import torch
from torch import nn

from symlab.kfac import Classification, estimate, kronecker
from symlab.kfac.layers import find_layers
from symlab.kfac.rules.base import RuleOptions
from symlab.kfac.rules.linear import LinearWeight
from symlab.kfac.rules.normalisation import TrailingScale


class Averaged(nn.Module):
    """A network that sees two copies of each data point."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 4))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        copies = torch.stack([inputs, -0.5 * inputs], 1).flatten(0, 1)
        return self.network(copies).unflatten(0, (-1, 2)).mean(1)


MODELS = {
    "vectors": nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.LayerNorm(5), nn.Linear(5, 4)),
    "maps": nn.Sequential(
        nn.Unflatten(1, (2, 3, 1)), nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(12, 4)
    ),
    "copies": Averaged(),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("together", [1, 2])
def test_signals_together_give_what_they_give_one_after_the_other(name, together, monkeypatch):
    torch.manual_seed(0)
    model = MODELS[name].double()
    inputs, targets = torch.randn(7, 6, dtype=torch.float64), torch.arange(7) % 4
    joined = estimate(model, Classification(), [(inputs, targets)]).blocks
    widest = 7 * {"vectors": 5, "maps": 12, "copies": 10}[name] * 8
    monkeypatch.setattr(kronecker, "JOINED_SIGNALS", together * widest)
    for block, expected in zip(
        estimate(model, Classification(), [(inputs, targets)]).blocks.values(), joined.values(), strict=True
    ):
        torch.testing.assert_close(block.inputs, expected.inputs, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(block.outputs, expected.outputs, rtol=1e-10, atol=1e-12)


def test_what_a_data_point_costs_does_not_depend_on_the_data_set_it_is_cut_from():
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))

    def cost(inputs: torch.Tensor) -> float:
        layers = find_layers(model, RuleOptions())
        return kronecker.FactorSums(model, Classification(), layers, "ggn", 1, None).reserve(inputs)

    # held for each point: the input and what ReLU gives; the largest output has 5 numbers
    expected = kronecker.PASS_OVERHEAD * 4 * (6 + 5 + kronecker.GRADIENTS * 5)
    assert cost(torch.randn(1000, 6)[:2]) == cost(torch.randn(2, 6)) == expected


def test_rows_of_several_signals_are_those_of_each_below_each_other():
    torch.manual_seed(0)
    inputs, gradients = torch.randn(7, 5), torch.randn(3, 7, 5)
    for rule in (LinearWeight(RuleOptions()), TrailingScale("weight", nn.LayerNorm(5), scale=True)):
        expected = torch.cat([rule.output_rows(inputs, gradient) for gradient in gradients], 3)
        torch.testing.assert_close(rule.joined_output_rows(inputs, gradients), expected)
