from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from symlab.kfac import Classification, estimate
from symlab.kfac.rules import convolution
from tests.kfac_contract import Chain, RuleContract
from tests.oracles import dense_ggn, layer_rows, output_gradients


class ConvolutionContract(RuleContract):
    shape = (2, 6, 5)
    options: ClassVar[dict[str, Any]] = {}

    def layer(self) -> nn.Module:
        return nn.Conv2d(self.shape[0], 3, **{"kernel_size": 3, **self.options})

    def positions(self, output: Tensor) -> Tensor:
        return output.flatten(2).mT

    @pytest.fixture(autouse=True)
    def few_data_are_many(self, monkeypatch):
        """So that the way taken with many data is tested too; the next test compares it with the one taken with few."""
        monkeypatch.setattr(convolution, "FEW_PRODUCTS", 0)

    def test_few_data_give_the_same_input_factor(self, monkeypatch):
        torch.manual_seed(0)
        model = Chain(self.layer(), self.shape).double()
        data = [(torch.randn(3, *self.shape, dtype=torch.float64), torch.arange(3))]
        factors = []
        for few in (0, 10**12):
            monkeypatch.setattr(convolution, "FEW_PRODUCTS", few)
            factors.append(estimate(model, Classification(), data).blocks["layer.weight"].inputs)
        torch.testing.assert_close(factors[0], factors[1], rtol=1e-12, atol=1e-12)


class TestZeroPadding(ConvolutionContract):
    options: ClassVar[dict[str, Any]] = {"padding": 1}


class TestNoPadding(ConvolutionContract):
    pass


class TestCircularPadding(ConvolutionContract):
    options: ClassVar[dict[str, Any]] = {"padding": 1, "padding_mode": "circular"}


class TestReflectPadding(ConvolutionContract):
    options: ClassVar[dict[str, Any]] = {"padding": 1, "padding_mode": "reflect"}


class TestSamePadding(ConvolutionContract):
    options: ClassVar[dict[str, Any]] = {"padding": "same", "kernel_size": (3, 5)}


class TestStride(ConvolutionContract):
    options: ClassVar[dict[str, Any]] = {"padding": 1, "stride": 2}


class TestDilation(ConvolutionContract):
    options: ClassVar[dict[str, Any]] = {"padding": 2, "dilation": 2, "padding_mode": "circular"}


class TestLargeKernel(ConvolutionContract):
    options: ClassVar[dict[str, Any]] = {"kernel_size": 5, "padding": 1, "bias": False}


class TestSinglePixel(ConvolutionContract):
    """One position: exact for one data point."""

    shape = (3, 3, 3)


class TestManyChannels(ConvolutionContract):
    """Wide enough for the products of ``symlab.kfac.patches`` instead of its convolution."""

    shape = (17, 4, 3)
    options: ClassVar[dict[str, Any]] = {"padding": 1}


class TestManyChannelsCircular(TestManyChannels):
    options: ClassVar[dict[str, Any]] = {"padding": 1, "padding_mode": "circular"}


@pytest.mark.parametrize("sharing", ["expand", "reduce"])
def test_groups_are_products_of_their_own(sharing):
    """Each group is a convolution of its own: compared with the contract's definition group by group."""
    torch.manual_seed(0)
    model = Chain(nn.Conv2d(4, 6, 3, padding=1, groups=2), (4, 4, 5)).double()
    inputs, targets = torch.randn(3, 4, 4, 5, dtype=torch.float64), torch.arange(3)
    block = estimate(model, Classification(), [(inputs, targets)], sharing=sharing).blocks["layer.weight"]

    def positions(output: Tensor) -> Tensor:
        return output.flatten(2).mT

    _, gradients = output_gradients(model, model.layer, inputs, positions)
    hessians = Classification().hessian(model(inputs)).detach()
    expected = []
    for group in range(2):
        single = nn.Conv2d(2, 3, 3, padding=1).double()
        rows = layer_rows(single, inputs[:, 2 * group : 2 * group + 2], positions)
        signal = gradients[..., 3 * group : 3 * group + 3]
        if sharing == "reduce":
            rows, signal = rows.mean(1, keepdim=True), signal.sum(2, keepdim=True)
        left = torch.einsum("ntd,nte->de", rows, rows)
        right = torch.einsum("nctd,nck,nkte->de", signal, hessians, signal)
        expected.append(torch.kron(right, left) / (rows.shape[0] * rows.shape[1]))
    torch.testing.assert_close(block.dense(), torch.block_diag(*expected), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("groups", [1, 2])
def test_jointly_with_its_bias_one_position_is_exact(groups):
    torch.manual_seed(0)
    model = Chain(nn.Conv2d(2, 4, 3, groups=groups), (2, 3, 3)).double()
    inputs = torch.randn(1, 2, 3, 3, dtype=torch.float64)
    block = estimate(model, Classification(), [(inputs, torch.tensor([1]))], bias="joint").blocks["layer.weight"]
    dense = dense_ggn(model, Classification(), inputs, block.names)
    if groups == 1:
        torch.testing.assert_close(block.dense(), dense, rtol=1e-8, atol=1e-8)
    else:  # groups are independent in KFAC: compare within each
        same = torch.cat([torch.arange(2).repeat_interleave(18), torch.arange(2).repeat_interleave(2)])
        mask = same[:, None] == same[None, :]
        torch.testing.assert_close(block.dense(), dense * mask, rtol=1e-8, atol=1e-8)


def test_layout_in_memory_does_not_matter():
    torch.manual_seed(0)
    model = Chain(nn.Conv2d(2, 3, 3, padding=1), (2, 4, 4)).double()
    inputs, targets = torch.randn(3, 2, 4, 4, dtype=torch.float64), torch.arange(3)
    plain = estimate(model, Classification(), [(inputs, targets)]).blocks["layer.weight"].dense()
    model = model.to(memory_format=torch.channels_last)
    moved = inputs.contiguous(memory_format=torch.channels_last)
    other = estimate(model, Classification(), [(moved, targets)]).blocks["layer.weight"].dense()
    torch.testing.assert_close(other, plain, rtol=1e-12, atol=1e-12)
