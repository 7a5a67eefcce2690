import pytest
import torch

from emlp_rpp.groups import SL, SO, Embedded, Group, O, S, Trivial
from emlp_rpp.networks import EMLP, MLP
from emlp_rpp.pathways import PathwayEMLP, PathwayPrior, negative_log_prior
from emlp_rpp.representations import Scalar, T, V
from symlab.errors import ConfigError
from tests.emlp_rpp.networks.oracles import equivariance_error

GROUPS = [O(3), SO(3), S(3), SL(3), Embedded(O(2)), Trivial(3)]
BOTH, CONSTRAINED, FREE = PathwayPrior(1e5, 1.0), PathwayPrior(1e5, 0.0), PathwayPrior(0.0, 1.0)


def network(group: Group, prior: PathwayPrior) -> PathwayEMLP:
    torch.manual_seed(0)
    return PathwayEMLP((2 * Scalar + 3 * V)(group), (T(2) + V)(group), channels=64, layers=2, prior=prior).double()


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_without_residual_variance_it_is_the_emlp(group: Group):
    ours = network(group, CONSTRAINED)
    theirs = EMLP(ours.rep_in, ours.rep_out, channels=64, layers=2).double()
    theirs.load_state_dict({name.replace(".equivariant.", "."): value for name, value in ours.state_dict().items()})
    x = torch.randn(7, ours.rep_in.size, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x))
    assert equivariance_error(ours, ours.rep_in, ours.rep_out) < 1e-8


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_without_equivariant_variance_it_is_the_mlp(group: Group):
    ours = network(group, FREE)
    theirs = MLP(ours.rep_in.size, ours.rep_out.size, channels=64, layers=2).double()
    theirs.load_state_dict(dict(zip(theirs.state_dict(), ours.state_dict().values())))
    x = torch.randn(7, ours.rep_in.size, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_zero_residual_weights_are_the_emlp_and_others_are_not(group: Group):
    ours = network(group, BOTH)
    for name, parameter in ours.named_parameters():
        if ".residual." in name or name.endswith("swish_weight"):
            torch.nn.init.zeros_(parameter)
    assert equivariance_error(ours, ours.rep_in, ours.rep_out) < 1e-8
    torch.nn.init.normal_(ours.blocks[0].linear.residual.weight)
    assert group == Trivial(3) or equivariance_error(ours, ours.rep_in, ours.rep_out) > 1e-3


def test_zero_equivariant_weights_leave_the_residual_behind_gates_of_one_half():
    """Gated(h) of scalars is swish; of tensors without gate inputs it is h / 2. The swish path is the MLP's."""
    ours = network(O(3), BOTH)
    for name, parameter in ours.named_parameters():
        if ".equivariant." in name or "bilinear" in name:
            torch.nn.init.zeros_(parameter)
    block, x = ours.blocks[0], torch.randn(5, ours.rep_in.size, dtype=torch.float64)
    torch.nn.init.ones_(block.swish_weight)
    h = block.linear.residual(x)
    gates = block.gate.gates
    expected = block.gate(h) + torch.nn.functional.silu(h[:, gates:])
    torch.testing.assert_close(block(x), expected)


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_a_block_is_what_its_formula_says(group: Group):
    block, rep = network(group, BOTH).blocks[0], (2 * Scalar + 3 * V)(group)
    torch.nn.init.normal_(block.swish_weight)
    x = torch.randn(5, rep.size, dtype=torch.float64)
    h = block.linear.equivariant(x) + block.linear.residual(x)
    h = h if block.bilinear is None else h + block.bilinear(h)
    expected = block.gate(h) + block.swish_weight * torch.nn.functional.silu(h[:, block.gate.gates :])
    torch.testing.assert_close(block(x), expected)


def test_the_prior_of_a_network_is_the_sum_over_all_its_weights():
    ours = network(O(3), PathwayPrior(10.0, 0.5))
    torch.nn.init.normal_(ours.blocks[1].swish_weight)
    expected = torch.zeros((), dtype=torch.float64)
    for layer in (ours.blocks[0].linear, ours.blocks[1].linear, ours.output):
        weight, bias = layer.equivariant.dense()
        expected = expected + (weight.square().sum() + bias.square().sum()) / 20
        expected = expected + (layer.residual.weight.square().sum() + layer.residual.bias.square().sum()) / 1.0
    for block in ours.blocks:
        expected = expected + block.bilinear.weights.square().sum() / 20 + block.swish_weight.square() / 1.0
    torch.testing.assert_close(negative_log_prior(ours), expected)


def test_a_subgroup_is_kept_exactly():
    group, subgroup = O(3), Embedded(O(2))
    rep_in, rep_out = (2 * Scalar + 3 * V)(group), (T(2) + V)(group)
    ours = PathwayEMLP(rep_in, rep_out, channels=64, layers=2, prior=BOTH, subgroup=subgroup).double()
    for name, parameter in ours.named_parameters():
        if ".residual." in name:
            torch.nn.init.normal_(parameter, std=0.3)
    assert equivariance_error(ours, rep_in.restrict(subgroup), rep_out.restrict(subgroup)) < 1e-8
    assert equivariance_error(ours, rep_in, rep_out) > 1e-3


def test_a_network_without_pathways_has_no_prior():
    with pytest.raises(ConfigError, match="MLP has no residual pathway"):
        negative_log_prior(MLP(3, 2, channels=4))
