import pytest
import torch
from torch import nn

from symlab.kfac import Classification, estimate
from tests.kfac_contract import Chain
from tests.oracles import dense_ggn

CASES = {
    "group norm": (lambda: nn.GroupNorm(2, 4), (4, 3, 3)),
    "group norm on vectors": (lambda: nn.GroupNorm(2, 4), (4,)),
    "layer norm": (lambda: nn.LayerNorm(4), (3, 4)),
    "layer norm over two dimensions": (lambda: nn.LayerNorm((3, 4)), (3, 4)),
    "layer norm without bias": (lambda: nn.LayerNorm(4, bias=False), (4,)),
    "batch norm": (lambda: nn.BatchNorm2d(4), (4, 3, 3)),
    "batch norm on vectors": (lambda: nn.BatchNorm1d(4), (4,)),
}


@pytest.mark.parametrize("case", CASES)
def test_blocks_are_exact(case):
    build, shape = CASES[case]
    torch.manual_seed(0)
    layer = build().eval()
    model = Chain(layer, shape).double().eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter))
    inputs, targets = torch.randn(3, *shape, dtype=torch.float64), torch.arange(3)
    blocks = estimate(model, Classification(), [(inputs, targets)]).blocks
    for name, _ in layer.named_parameters():
        dense = dense_ggn(model, Classification(), inputs, [f"layer.{name}"])
        torch.testing.assert_close(blocks[f"layer.{name}"].dense(), dense, rtol=1e-8, atol=1e-8)
