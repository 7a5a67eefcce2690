import pytest
import torch
from torch import nn

from symlab.kfac import Classification, estimate
from symlab.models.fixup import ScalarBias, ScalarScale, convolution, draw_kernel, start_at_zero
from tests.kfac_contract import Chain
from tests.oracles import dense_ggn


@pytest.mark.parametrize(("layer", "name"), [(ScalarBias, "bias"), (ScalarScale, "weight")])
@pytest.mark.parametrize("shape", [(2, 3, 3), (4,)])
def test_blocks_of_scalars_are_exact(layer: type[nn.Module], name: str, shape: tuple[int, ...]):
    torch.manual_seed(0)
    model = Chain(layer(), shape).double()
    with torch.no_grad():
        for parameter in model.layer.parameters():
            parameter.add_(torch.randn_like(parameter))
    inputs = torch.randn(3, *shape, dtype=torch.float64)
    block = estimate(model, Classification(), [(inputs, torch.arange(3))]).blocks[f"layer.{name}"]
    dense = dense_ggn(model, Classification(), inputs, [f"layer.{name}"])
    torch.testing.assert_close(block.dense(), dense, rtol=1e-8, atol=1e-8)


def test_scalars_start_as_the_identity_and_learn_slower():
    features = torch.randn(2, 3, 4, 4)
    assert torch.equal(ScalarBias()(features), features)
    assert torch.equal(ScalarScale()(features), features)
    assert ScalarBias().learning_rate_factors() == {"bias": 0.1}
    assert ScalarScale().learning_rate_factors() == {"weight": 0.1}


def test_kernels_are_drawn_for_the_number_of_blocks():
    torch.manual_seed(0)
    layer = convolution(64, 100)
    draw_kernel(layer, blocks=4)
    assert layer.weight.std().item() == pytest.approx((2 / 900 / 4) ** 0.5, rel=0.02)
    start_at_zero(layer)
    assert layer.weight.abs().max() == 0
