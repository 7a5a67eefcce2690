import pytest
import torch
from torch import Tensor, nn

from ella.layers import FactoredFullyConnected
from ella.layers.factored_fully_connected import FromSpace, ToSpace
from symlab.kfac import Classification, estimate
from tests.kfac_contract import Chain, RuleContract
from tests.oracles import dense_ggn


def test_equals_the_sum_written_out():
    """ELLA Eq. 5 with the biases of both halves, one output at a time."""
    layer = FactoredFullyConnected(2, 3, 4, 2).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    features = torch.randn(2, 2, 4, 4, dtype=torch.float64)
    outputs = layer(features)
    assert outputs.shape == (2, 3, 2, 2)
    read, write = layer.from_space, layer.to_space
    for sample in range(2):
        for target in range(3):
            for site in range(4):
                total = write.bias[site].clone()
                for source in range(2):
                    inner = (read.weight[target, source] * features[sample, source].flatten()).sum() + read.bias[target]
                    total = total + write.weight[site, target, source] * inner
                value = outputs[sample, target, site // 2, site % 2]
                torch.testing.assert_close(value, total, rtol=1e-12, atol=1e-12)


def test_keeps_the_variance_of_a_layer_before_a_relu():
    torch.manual_seed(0)
    outputs = FactoredFullyConnected(16, 64, 8, 8)(torch.randn(64, 16, 8, 8))
    assert 1.2 < outputs.square().mean().item() < 3.2  # twice the input's, which a ReLU halves


class FactorContract(RuleContract):
    def test_reduce_is_its_definition(self) -> None:
        """At each position other columns of the matrix are used: C.1 holds whatever the setting of shared positions."""
        model, inputs, targets = self.case()
        expanded, reduced = (
            estimate(model, Classification(), [(inputs, targets)], sharing=sharing).blocks["layer.weight"].dense()
            for sharing in ("expand", "reduce")
        )
        assert torch.equal(expanded, reduced)


class TestFromSpace(FactorContract):
    shape = (3, 6)

    def layer(self) -> nn.Module:
        layer = FromSpace(3, 2, 6)
        nn.init.normal_(layer.weight)
        return layer

    def positions(self, output: Tensor) -> Tensor:
        return output.mT


class TestFromSpaceOfOneChannel(TestFromSpace):
    """One position: exact for one data point."""

    shape = (1, 6)

    def layer(self) -> nn.Module:
        layer = FromSpace(1, 3, 6)
        nn.init.normal_(layer.weight)
        return layer


class TestToSpace(FactorContract):
    shape = (2, 3)

    def layer(self) -> nn.Module:
        layer = ToSpace(3, 2, 4)
        nn.init.normal_(layer.weight)
        return layer

    def positions(self, output: Tensor) -> Tensor:
        return output


class TestToSpaceOfOneChannel(TestToSpace):
    shape = (1, 3)

    def layer(self) -> nn.Module:
        layer = ToSpace(3, 1, 4)
        nn.init.normal_(layer.weight)
        return layer


def test_input_factors_are_kept_block_diagonal():
    model = Chain(FactoredFullyConnected(3, 5, 4, 2), (3, 4, 4))
    blocks = estimate(model, Classification(), [(torch.randn(4, 3, 4, 4), torch.arange(4))]).blocks
    shapes = {name: (tuple(block.inputs.shape), tuple(block.outputs.shape)) for name, block in blocks.items()}
    assert shapes == {
        "layer.from_space.weight": ((1, 3, 16, 16), (1, 1, 5, 5)),
        "layer.from_space.bias": ((1, 1, 1, 1), (1, 1, 5, 5)),
        "layer.to_space.weight": ((1, 5, 3, 3), (1, 1, 4, 4)),
        "layer.to_space.bias": ((1, 1, 1, 1), (1, 1, 4, 4)),
        "head.weight": ((1, 1, 20, 20), (1, 1, 4, 4)),
        "head.bias": ((1, 1, 1, 1), (1, 1, 4, 4)),
    }


@pytest.mark.parametrize("half", ["from_space", "to_space"])
def test_blocks_of_appendix_c_1_written_out(half):
    """1/(N C) [sum_{n, c} a a^T] (x) [sum_{n, c} g Lambda g^T]: a written out with its zeros, g by autograd."""
    torch.manual_seed(0)
    layer = FactoredFullyConnected(2, 3, 2, 2)
    model = Chain(layer, (2, 2, 2)).double()
    inputs, targets = torch.randn(3, 2, 2, 2, dtype=torch.float64), torch.arange(3)
    blocks = estimate(model, Classification(), [(inputs, targets)]).blocks
    hessians = Classification().hessian(model(inputs)).detach()
    between = layer.from_space(inputs.flatten(2)).detach()  # (N, c', c)
    if half == "from_space":
        values = between.clone().requires_grad_()
        outputs = model.head(layer.to_space(values).tanh().flatten(1))
        positions, a = 2, torch.zeros(3, 2, 2, 4, dtype=torch.float64)
        for channel in range(2):
            a[:, channel, channel] = inputs[:, channel].flatten(1)
    else:
        values = layer.to_space(between).detach().requires_grad_()
        outputs = model.head(values.tanh().flatten(1))
        positions, a = 3, torch.zeros(3, 3, 3, 2, dtype=torch.float64)
        for channel in range(3):
            a[:, channel, channel] = between[:, channel]
    g = torch.stack([torch.autograd.grad(outputs[:, k].sum(), values, retain_graph=True)[0] for k in range(4)], 1)
    g = g.transpose(2, 3) if half == "from_space" else g  # (N, K, positions, E)
    rows = a.flatten(2)
    left = torch.einsum("npd,npe->de", rows, rows)
    right = torch.einsum("nkpe,nkl,nlpf->ef", g, hessians, g)
    expected = torch.kron(right, left) / (3 * positions)
    torch.testing.assert_close(blocks[f"layer.{half}.weight"].dense(), expected, rtol=1e-8, atol=1e-8)
    bias = f"layer.{half}.bias"
    torch.testing.assert_close(
        blocks[bias].dense(), dense_ggn(model, Classification(), inputs, [bias]), rtol=1e-8, atol=1e-8
    )
