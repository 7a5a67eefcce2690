"""The sum against the same sum left to autograd, einsum by einsum."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from emlp_rpp.groups import Group, Lorentz, O, Sp
from emlp_rpp.networks import Bilinear
from emlp_rpp.networks.bilinear_sum import BilinearSteps, add_bilinear
from emlp_rpp.networks.parts import Parts, split_parts
from emlp_rpp.representations import Scalar, T, V

EXACT = torch.float64


def plain_sum(steps: BilinearSteps, weights: Tensor, results: Parts, parts: Parts, maps: dict[int, Tensor]) -> Parts:
    totals = list(results)
    for group in steps.groups:
        rows = group.matrix(weights)
        start = 0
        for each in group.members:
            z, x = each.as_maps(maps[each.kind]).squeeze(1), parts[each.input]
            if group.mixed:
                own = rows[start : start + each.drawn * each.output_copies].view(each.drawn, each.output_copies, -1)
                start += each.drawn * each.output_copies
                added = torch.einsum("koin,kcd,din->con", z, own, x)
            else:
                own = rows[:, start : start + each.drawn * each.input_copies]
                start += each.drawn * each.input_copies
                added = torch.einsum("koin,ckd,din->con", z, own.reshape(-1, each.drawn, each.input_copies), x)
            totals[each.output] = totals[each.output] + added
    return totals


def problem(
    group: Group, wanted: set[int] | None = None, batch: int = 3
) -> tuple[BilinearSteps, Tensor, Parts, Parts, dict[int, Tensor]]:
    representation = (4 * Scalar + 3 * V + 2 * T(2) + T(3))(group).canonical
    layer = Bilinear(representation, representation).double()
    parts = split_parts(torch.randn(batch, representation.size, dtype=EXACT), representation)
    steps = layer._steps(wanted)
    maps = {kind: layer._maps(kind, parts[kind]).clone() for kind in steps.kinds}
    results = [torch.randn_like(part) for part in parts]
    return steps, layer.weights.detach(), results, [part.clone() for part in parts], maps


def leaves(steps: BilinearSteps, weights: Tensor, results: Parts, parts: Parts, maps: dict[int, Tensor]) -> list[Tensor]:
    used = [*(results[at] for at in steps.outputs), *(parts[at] for at in steps.inputs), *maps.values()]
    return [tensor.requires_grad_() for tensor in (weights, *used)]


@pytest.mark.parametrize("group", [O(3), Sp(1), Lorentz()], ids=str)
@pytest.mark.parametrize("wanted", [None, {0, 2}, {1}])
@pytest.mark.parametrize("batch", [3, 200])  # without and with the gradient by hand
def test_values_and_both_derivatives_are_those_of_autograd(group: Group, wanted: set[int] | None, batch: int):
    torch.manual_seed(0)
    arguments = problem(group, wanted, batch)
    inputs = leaves(*arguments)
    found: list[list[Tensor]] = []
    for function in (add_bilinear, plain_sum):
        generator = torch.Generator().manual_seed(1)
        outputs = function(*arguments)
        weighted = sum((y * torch.randn(y.shape, generator=generator, dtype=EXACT)).sum() for y in outputs)
        first = torch.autograd.grad(weighted, inputs, create_graph=True)
        again = sum((g * torch.randn(g.shape, generator=generator, dtype=EXACT)).sum() for g in first)
        second = torch.autograd.grad(again, inputs, allow_unused=True, materialize_grads=True)
        plain = torch.autograd.grad(sum(y.square().sum() for y in function(*arguments)), inputs)
        found.append([*outputs, *first, *second, *plain])
    for ours, expected in zip(*found):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-9)


def test_gradients_of_each_sample(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("emlp_rpp.networks.bilinear_sum._LARGE_BATCH", 1)
    steps, weights, _, parts, maps = problem(O(3))

    def loss(w: Tensor, sample: list[Tensor]) -> Tensor:
        own = [part.unsqueeze(-1) for part in sample]
        drawn = {kind: own[kind][: len(maps[kind])] for kind in steps.kinds}
        return sum(y.square().sum() for y in add_bilinear(steps, w, own, own, drawn))

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, -1))(weights, parts)
    for at in range(3):
        alone = torch.func.grad(loss)(weights, [part[..., at] for part in parts])
        torch.testing.assert_close(each[at], alone)


class LargestTensor(TorchDispatchMode):
    entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(each, Tensor):
                self.entries = max(self.entries, each.untyped_storage().nbytes() // each.element_size())
        return result


def test_the_matrices_of_samples_are_never_written():
    representation = (30 * Scalar + 20 * V + 6 * T(2) + 2 * T(3))(O(3))
    layer, batch = Bilinear(representation, representation), 300
    x = torch.randn(batch, representation.size, requires_grad=True)
    with LargestTensor() as largest:
        layer(x).sum().backward()
    assert x.numel() < largest.entries < batch * representation.size**2 / 10
