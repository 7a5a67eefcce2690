import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from emlp_rpp.errors import EmptyMapError, GroupMismatchError, InputSizeError, ProblemTooLargeError
from emlp_rpp.groups import (
    SE,
    SL,
    SO,
    D,
    DirectProduct,
    Group,
    Lorentz,
    O,
    ProperOrthochronousLorentz,
    S,
    Sp,
    Z,
)
from emlp_rpp.networks import EMLP
from emlp_rpp.representations import PseudoScalar, Scalar, T, V
from emlp_rpp.solver import Options
from symlab.errors import ConfigError
from tests.emlp_rpp.networks.oracles import REAL_SU2, equivariance_error

GROUPS = [
    O(2),
    O(3),
    O(5),
    SO(2),
    SO(3),
    SO(4),
    Lorentz(),
    ProperOrthochronousLorentz(),
    S(3),
    S(4),
    Z(5),
    D(4),
    Sp(1),
    Sp(2),
    SL(3),
    SE(2),
    REAL_SU2,
    DirectProduct(S(3), O(2)),
]
PROJECT = Path(__file__).resolve().parents[3]


def build(group: Group, channels: int = 40, layers: int = 2) -> EMLP:
    torch.manual_seed(0)
    return EMLP((2 * V + Scalar)(group), (Scalar + V)(group), channels=channels, layers=layers)


def train(network: EMLP, steps: int = 4) -> None:
    dtype = next(network.parameters()).dtype
    x, y = torch.randn(32, network.rep_in.size, dtype=dtype), torch.randn(32, network.rep_out.size, dtype=dtype)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        (network(x) - y).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)])
def test_networks_are_equivariant_before_and_after_training(group: Group, dtype: torch.dtype, tolerance: float):
    network = build(group).to(dtype)
    x = torch.randn(20, network.rep_in.size, dtype=dtype)
    before = network(x).detach()
    scale = max(1.0, float(before.abs().max()))  # outputs start as constants of order 0.1 with small variations
    assert absolute_error(network, dtype) < tolerance * scale
    train(network, steps=20)
    assert not torch.allclose(network(x), before)
    assert absolute_error(network, dtype) < tolerance * max(1.0, float(network(x).detach().abs().max()))


def absolute_error(network: EMLP, dtype: torch.dtype) -> float:
    spread: list[float] = []

    def watched(x: Tensor) -> Tensor:
        y = network(x)
        spread.append(float((y - y.mean(0)).abs().max()))
        return y

    return equivariance_error(watched, network.rep_in, network.rep_out, dtype) * spread[0]


def test_it_is_the_chain_of_its_layers():
    """Linear, plus bilinear, then gates, layer by layer through the public forwards."""
    even = EMLP((2 * V)(O(3)), Scalar(O(3)), channels=40, layers=2)  # its output reads only half of the last hidden layer
    assert even._read == {0, 2}
    for network in (even.double(), *(build(group).double() for group in (O(3), Sp(1), S(4)))):
        x = torch.randn(3, 4, network.rep_in.size, dtype=torch.float64)
        h = x
        for block in network.blocks:
            linear = block.linear(h)
            h = block.gate(linear + block.bilinear(linear))
            torch.testing.assert_close(block(x) if block is network.blocks[0] else h, h)
        torch.testing.assert_close(network(x), network.output(h))


def test_it_learns_an_invariant_function():
    torch.manual_seed(1)
    group = O(3)
    network = EMLP((2 * V)(group), Scalar(group), channels=60, layers=2)
    x = torch.randn(200, 6)
    y = (x[:, :3] * x[:, 3:]).sum(1, keepdim=True)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        loss = (network(x) - y).square().mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1 * float(y.square().mean())


def test_second_derivatives_reach_the_weights():
    """What a Hamiltonian network needs: the gradient in x, differentiated by the weights."""
    group = O(2)
    network = EMLP((2 * V)(group), Scalar(group), channels=20, layers=2).double()
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    def field(at: Tensor) -> Tensor:
        return torch.autograd.grad(network(at).sum(), at, create_graph=True)[0]

    weight = network.blocks[0].bilinear.weights
    found = torch.autograd.grad(field(x).square().sum(), weight)[0][0]
    values = []
    for step in (1e-5, -1e-5):
        with torch.no_grad():
            weight[0] += step
        values.append(float(field(x).square().sum().detach()))
        with torch.no_grad():
            weight[0] -= step
    assert float(found) == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4)


def test_gradients_of_each_sample():
    network = build(O(3), layers=1).double()
    parameters = {name: value.detach() for name, value in network.named_parameters()}
    x = torch.randn(3, network.rep_in.size, dtype=torch.float64)

    def loss(values: dict[str, Tensor], sample: Tensor) -> Tensor:
        return torch.func.functional_call(network, values, (sample[None],)).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    for at in range(3):
        alone = torch.autograd.grad(network(x[at : at + 1]).square().sum(), list(network.parameters()))
        torch.testing.assert_close([each[name][at] for name in parameters], list(alone))


def test_hidden_layers_may_be_given_and_their_order_does_not_matter():
    group = O(3)
    network = EMLP(V(group), Scalar(group), channels=(2 * V + 3 * Scalar + T(2) + V)(group), layers=1)
    assert network.hidden == (3 * Scalar + 3 * V + T(2))(group)
    assert EMLP(V(group), V(group), layers=0).output.rep_in == V(group)


DUMP = """
import hashlib, torch
from emlp_rpp.groups import O, ProperOrthochronousLorentz
from emlp_rpp.networks import EMLP
from emlp_rpp.representations import Scalar, T, V
for group in (O(3), ProperOrthochronousLorentz()):
    torch.manual_seed(0)
    network = EMLP((2 * V + Scalar)(group), (T(2) + V)(group), channels=60, layers=2)
    for name, tensor in network.state_dict().items():
        print(name, tuple(tensor.shape), hashlib.sha256(tensor.numpy().tobytes()).hexdigest())
    print([name for name, _ in network.named_parameters()], network.hidden)
"""


def test_another_process_builds_the_same_network():
    outputs = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PROJECT)}
        finished = subprocess.run([sys.executable, "-c", DUMP], capture_output=True, text=True, env=environment, cwd=PROJECT)
        assert finished.returncode == 0, finished.stderr
        outputs.append(finished.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("bilinear.drawn") == 4


def test_the_state_carries_the_network():
    one, other = build(SO(3)).double(), build(SO(3))
    train(one)
    other.double().load_state_dict(one.state_dict())
    x = torch.randn(5, one.rep_in.size, dtype=torch.float64)
    assert torch.equal(one(x), other(x))


def test_what_does_not_fit_is_explained():
    group = O(3)
    with pytest.raises(GroupMismatchError, match="use one group"):
        EMLP(V(group), V(SO(3)))
    with pytest.raises(GroupMismatchError, match="use one group"):
        EMLP(V(group), V(group), channels=(3 * V)(SO(3)))
    with pytest.raises(InputSizeError, match=r"2\*V \+ 1 of O\(3\) has 7 coordinates"):
        build(group)(torch.zeros(3, 6))
    with pytest.raises(ConfigError, match="rep_in = V is not bound to a group"):
        EMLP(V, V(group))
    with pytest.raises(ConfigError, match="-1 layers do not fit"):
        EMLP(V(group), V(group), layers=-1)
    with pytest.raises(EmptyMapError, match="use the bilinear layer"):
        EMLP((2 * V)(group), Scalar(group), layers=0)
    with pytest.raises(
        EmptyMapError, match=r"P of O\(3\) is constant: no equivariant map .* 5\*1 \+ V is linear; take more ch"
    ):
        EMLP(V(group), (V + PseudoScalar)(group), channels=8)
    with pytest.raises(EmptyMapError, match=r"P of O\(3\) is ignored"):
        EMLP((V + PseudoScalar)(group), V(group), channels=8)
    with pytest.raises(ProblemTooLargeError, match="take fewer channels or tensors of lower rank"):
        EMLP(V(group), V(group), channels=384, options=Options(limit_bytes=10**5))
