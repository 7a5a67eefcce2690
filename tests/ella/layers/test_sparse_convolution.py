import pytest
import torch
from torch import Tensor, nn

from ella.layers import Convolution, SparseConvolution
from ella.layers.sparse_convolution import AnchoredConvolution
from symlab.errors import ConfigError
from symlab.kfac import Classification, estimate
from tests.kfac_contract import Chain, RuleContract
from tests.oracles import dense_ggn


@pytest.mark.parametrize("prior", ["theta", "u", "omega"])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_is_the_convolution_with_its_induced_filters(prior, layout):
    """ELLA Eq. 6, filter by filter."""
    torch.manual_seed(0)
    sparse, dense = SparseConvolution(2, 3, 4, 2, prior=prior).double(), Convolution(2, 3, 4, 2).double()
    own = sparse.convolution
    nn.init.normal_(own.bias)
    with torch.no_grad():
        dense.convolution.bias.copy_(own.bias)
        for target in range(3):
            for source in range(2):
                induced = sum(own.weight[target, source, j] * own.basis()[j] for j in range(5))
                dense.convolution.weight[target, source] = induced.view(3, 3)
    features = torch.randn(5, 2, 4, 4, dtype=torch.float64).contiguous(memory_format=layout)
    torch.testing.assert_close(sparse(features), dense(features), rtol=1e-10, atol=1e-10)


class TestAnchorValues(RuleContract):
    shape = (2, 4, 5)
    prior = "u"

    def layer(self) -> nn.Module:
        layer = AnchoredConvolution(self.shape[0], 3, prior=self.prior)
        layer.basis.locations.requires_grad_(False)
        return layer

    def positions(self, output: Tensor) -> Tensor:
        return output.flatten(2).mT


class TestWhitenedAnchorValues(TestAnchorValues):
    prior = "theta"


class TestAnchorValuesOfOnePixel(TestAnchorValues):
    """One position: exact for one data point."""

    shape = (2, 1, 1)


class TestAnchorValuesOfManyChannels(TestAnchorValues):
    shape = (17, 4, 3)


def test_blocks_of_bias_and_frequencies_are_exact():
    torch.manual_seed(0)
    model = Chain(SparseConvolution(2, 3, 4, 2, prior="omega"), (2, 4, 4)).double()
    inputs, targets = torch.randn(3, 2, 4, 4, dtype=torch.float64), torch.arange(3)
    locations = ["layer.convolution.basis.locations"]
    blocks = estimate(model, Classification(), [(inputs, targets)], exclude=locations).blocks
    for parameter in ("layer.convolution.bias", "layer.convolution.basis.frequency"):
        dense = dense_ggn(model, Classification(), inputs, [parameter])
        torch.testing.assert_close(blocks[parameter].dense(), dense, rtol=1e-8, atol=1e-8)


def test_locations_must_be_left_out_on_purpose():
    model = Chain(SparseConvolution(2, 3, 4, 4), (2, 4, 4))
    with pytest.raises(ConfigError, match=r"say nothing of layer\.convolution\.basis\.locations"):
        estimate(model, Classification(), [(torch.randn(2, 2, 4, 4), torch.arange(2))])


def test_locations_have_a_gradient_of_the_loss():
    layer = SparseConvolution(2, 3, 4, 4)
    layer(torch.randn(2, 2, 4, 4)).square().sum().backward()
    assert layer.convolution.basis.locations.grad.abs().min() > 0


def test_keeps_the_variance_of_a_layer_before_a_relu():
    """Of maps that are constant: neighbouring weights of a smooth filter are alike, and so are neighbouring pixels."""
    torch.manual_seed(0)
    outputs = SparseConvolution(16, 64, 8, 8)(torch.randn(64, 16, 1, 1).expand(-1, -1, 8, 8))
    assert 1.0 < outputs.square().mean().item() < 4.0
