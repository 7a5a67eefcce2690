import torch
from torch import Tensor, nn

from symlab.kfac import Classification, estimate
from tests.kfac_contract import Chain, RuleContract
from tests.oracles import dense_ggn


class TestLinear(RuleContract):
    shape = (5,)

    def layer(self) -> nn.Module:
        return nn.Linear(5, 3)

    def positions(self, output: Tensor) -> Tensor:
        return output[:, None]


class TestSharedLinear(RuleContract):
    """Inputs (N, T, d): a sequence."""

    shape = (6, 5)

    def layer(self) -> nn.Module:
        return nn.Linear(5, 3)

    def positions(self, output: Tensor) -> Tensor:
        return output


class TestTwiceSharedLinear(RuleContract):
    shape = (2, 3, 4)

    def layer(self) -> nn.Module:
        return nn.Linear(4, 3, bias=False)

    def positions(self, output: Tensor) -> Tensor:
        return output.flatten(1, 2)


def test_jointly_with_its_bias_one_point_is_exact():
    torch.manual_seed(0)
    model = Chain(nn.Linear(5, 3), (5,)).double()
    inputs = torch.randn(1, 5, dtype=torch.float64)
    blocks = estimate(model, Classification(), [(inputs, torch.tensor([1]))], bias="joint").blocks
    assert list(blocks) == ["layer.weight", "head.weight"]
    for block in blocks.values():
        dense = dense_ggn(model, Classification(), inputs, block.names)
        torch.testing.assert_close(block.dense(), dense, rtol=1e-8, atol=1e-8)
