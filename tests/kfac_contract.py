"""What a curvature rule of a layer must satisfy; a new layer's test class inherits ``RuleContract`` and says how to build
one."""

import pytest
import torch
from torch import Tensor, nn

from symlab.kfac import Classification, estimate
from tests.oracles import dense_ggn, layer_rows, output_gradients


class Chain(nn.Module):
    """layer -> tanh -> flatten -> Linear: gives the layer's outputs gradients that differ from position to position."""

    def __init__(self, layer: nn.Module, shape: tuple[int, ...], classes: int = 4):
        super().__init__()
        self.layer = layer
        width = layer(torch.zeros(1, *shape)).numel()
        self.head = nn.Linear(width, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.layer(inputs).tanh().flatten(1))


class RuleContract:
    """Subclasses set ``shape`` of one input and define ``layer()`` and ``positions``: its output -> (N, T, E).

    The layer's ``weight`` must be E rows that all see the same inputs, i.e. y[n, t, o] = sum_d W[o, d] a[n, t, d] + b[o].
    """

    shape: tuple[int, ...]
    samples = 3

    def layer(self) -> nn.Module:
        raise NotImplementedError

    def positions(self, output: Tensor) -> Tensor:
        raise NotImplementedError

    def case(self, samples: int | None = None) -> tuple[nn.Module, Tensor, Tensor]:
        torch.manual_seed(0)
        model = Chain(self.layer(), self.shape).double()
        inputs = torch.randn(samples or self.samples, *self.shape, dtype=torch.float64)
        return model, inputs, torch.arange(len(inputs)) % 4

    def test_one_point_one_position_is_the_dense_block(self) -> None:
        model, inputs, targets = self.case(samples=1)
        if self.positions(model.layer(inputs)).shape[1] > 1:
            pytest.skip("with several positions the factorisation is an approximation, checked by its definition")
        block = estimate(model, Classification(), [(inputs, targets)]).blocks["layer.weight"]
        dense = dense_ggn(model, Classification(), inputs, block.names)
        torch.testing.assert_close(block.dense(), dense, rtol=1e-8, atol=1e-8)

    def test_expand_is_its_definition(self) -> None:
        model, inputs, targets = self.case()
        block = estimate(model, Classification(), [(inputs, targets)], sharing="expand").blocks["layer.weight"]
        layer_input, gradients = output_gradients(model, model.layer, inputs, self.positions)
        rows = layer_rows(model.layer, layer_input, self.positions)
        hessians = Classification().hessian(model(inputs)).detach()
        left = torch.einsum("ntd,nte->de", rows, rows)
        right = torch.einsum("nctd,nck,nkte->de", gradients, hessians, gradients)
        count = rows.shape[0] * rows.shape[1]
        torch.testing.assert_close(block.dense(), torch.kron(right, left) / count, rtol=1e-8, atol=1e-8)

    def test_reduce_is_its_definition(self) -> None:
        model, inputs, targets = self.case()
        block = estimate(model, Classification(), [(inputs, targets)], sharing="reduce").blocks["layer.weight"]
        layer_input, gradients = output_gradients(model, model.layer, inputs, self.positions)
        rows = layer_rows(model.layer, layer_input, self.positions).mean(1)
        hessians = Classification().hessian(model(inputs)).detach()
        left = torch.einsum("nd,ne->de", rows, rows)
        right = torch.einsum("ncd,nck,nke->de", gradients.sum(2), hessians, gradients.sum(2))
        torch.testing.assert_close(block.dense(), torch.kron(right, left) / len(rows), rtol=1e-8, atol=1e-8)

    def test_a_bias_of_its_own_is_exact(self) -> None:
        model, inputs, targets = self.case()
        blocks = estimate(model, Classification(), [(inputs, targets)]).blocks
        if "layer.bias" in blocks:
            dense = dense_ggn(model, Classification(), inputs, ["layer.bias"])
            torch.testing.assert_close(blocks["layer.bias"].dense(), dense, rtol=1e-8, atol=1e-8)

    def test_two_halves_add_up(self) -> None:
        model, inputs, targets = self.case()
        whole = estimate(model, Classification(), [(inputs, targets)]).blocks
        parts = [estimate(model, Classification(), [(x, t)]).blocks for x, t in zip(inputs.split(2), targets.split(2))]
        for name, block in whole.items():
            total = parts[0][name]
            for part in parts[1:]:
                total = total + part[name]
            torch.testing.assert_close(total.dense(), block.dense(), rtol=1e-10, atol=1e-10)
            assert total.rows == block.rows

    def test_float32_agrees_with_float64(self) -> None:
        model, inputs, targets = self.case()
        exact = estimate(model, Classification(), [(inputs, targets)]).blocks["layer.weight"].dense()
        single = estimate(model.float(), Classification(), [(inputs.float(), targets)]).blocks["layer.weight"].dense()
        assert single.dtype == torch.float32
        torch.testing.assert_close(single.double(), exact, rtol=1e-4, atol=1e-5)
