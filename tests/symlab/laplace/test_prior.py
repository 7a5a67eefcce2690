import pytest
import torch
from torch import nn
from torch.distributions import Normal

from symlab.errors import ConfigError
from symlab.laplace.prior import GaussianPrior
from tests.symlab.laplace.cases import BLOCKS, flattened, random_block, small_network


def model() -> nn.Sequential:
    network = small_network()
    network.register_parameter("shift", nn.Parameter(torch.tensor(0.3, dtype=torch.float64)))
    return network


def disturbed(prior: GaussianPrior) -> GaussianPrior:
    """Every precision another one."""
    with torch.no_grad():
        prior.log_precision.copy_(torch.linspace(-1, 1, len(prior.log_precision)))
    return prior


GROUPS = {
    "scalar": {"all": 1},
    "layer": {"": 1, "0": 1, "2": 1},
    "tensor": {"shift": 1, "0.weight": 1, "0.bias": 1, "2.weight": 1, "2.bias": 1},
    "unit": {"[1]": 1, "0[4]": 4, "2[3]": 3},
}


@pytest.mark.parametrize("structure", GROUPS)
class TestStructures:
    def test_groups(self, structure) -> None:
        prior = GaussianPrior(model(), structure, precision=2.5)
        assert {name: len(values) for name, values in prior.precisions().items()} == GROUPS[structure]
        assert all(torch.allclose(values, torch.tensor(2.5).double()) for values in prior.precisions().values())
        assert list(prior.state_dict()) == ["log_precision"]
        assert prior.n_parameters == 28

    def test_log_density_is_the_sum_of_normals(self, structure) -> None:
        network = model()
        prior = disturbed(GaussianPrior(network, structure))
        expected = sum(
            Normal(0, prior.precision_of_parameter(name).rsqrt().expand(value.shape)).log_prob(value).sum()
            for name, value in network.named_parameters()
        )
        actual = prior.log_density(network)
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)
        learnt = [*network.parameters(), prior.log_precision]
        for have, want in zip(torch.autograd.grad(actual, learnt), torch.autograd.grad(expected, learnt), strict=True):
            torch.testing.assert_close(have, want, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
    def test_precision_of_a_block_is_that_of_its_parameters(self, structure, block) -> None:
        named = {name: torch.zeros(shape) for name, shape in zip(block.names, block.shapes, strict=True)}
        prior = disturbed(GaussianPrior(named, structure))
        expected = [prior.precision_of_parameter(name).expand(value.shape).reshape(-1) for name, value in named.items()]
        delta = prior.precision_of(block)
        assert delta.dim() in (0, 3)
        assert 1 in delta.shape[1:] or delta.dim() == 0
        torch.testing.assert_close(flattened(block, delta), torch.cat(expected))


def test_frozen_parameters_have_no_prior() -> None:
    network = small_network()
    network[0].requires_grad_(False)
    assert list(GaussianPrior(network).shapes) == ["2.weight", "2.bias"]


def test_float32_parameters_keep_float64_precisions() -> None:
    network = small_network(dtype=torch.float32)
    prior = GaussianPrior(network)
    value = prior.log_density(network)
    value.backward()
    assert value.dtype == prior.log_precision.dtype == torch.float64
    assert network[0].weight.grad.dtype == torch.float32
    torch.testing.assert_close(network[0].weight.grad, -network[0].weight.detach())


def test_starting_precision_of_each_parameter() -> None:
    prior = GaussianPrior(small_network(), "tensor", precision={"0.weight": 4.0, "2.bias": 0.5})
    expected = {"0.weight": 4.0, "0.bias": 1.0, "2.weight": 1.0, "2.bias": 0.5}
    assert {name: values.item() for name, values in prior.precisions().items()} == pytest.approx(expected)
    assert GaussianPrior(small_network(), "layer", {"0.weight": 4.0}).precision_of_parameter(
        "0.bias"
    ).item() == pytest.approx(4)


def test_state_is_restored() -> None:
    stored, fresh = disturbed(GaussianPrior(model(), "unit")), GaussianPrior(model(), "unit")
    fresh.load_state_dict(stored.state_dict())
    assert torch.equal(fresh.log_precision, stored.log_precision)


def test_rows_of_a_block_may_be_positions_of_a_unit() -> None:
    block = random_block({"w": (2, 3, 4)}, (1, 1, 4), (1, 1, 6))
    prior = disturbed(GaussianPrior({"w": torch.zeros(2, 3, 4)}, "unit"))
    first, second = prior.precisions()["[2]"].tolist()
    assert prior.precision_of(block).flatten().tolist() == [first] * 3 + [second] * 3


@pytest.mark.parametrize(
    ("structure", "precision", "message"),
    [
        ("neuron", 1.0, "structure='neuron' is unknown: choose from scalar, layer, tensor, unit"),
        ("layer", 0.0, "precision=0.0 of '0.weight' does not fit"),
        ("layer", float("inf"), "a finite number above 0"),
        ("layer", {"1.weight": 1.0}, "precision of '1.weight': the prior has no such parameter"),
        ("layer", {"0.weight": 1.0, "0.bias": 2.0}, "group '0' shares one precision and has 1.0"),
    ],
)
def test_wrong_arguments_are_refused(structure, precision, message) -> None:
    with pytest.raises(ConfigError, match=message):
        GaussianPrior(small_network(), structure, precision)


def test_unknown_parameters_are_refused() -> None:
    prior = GaussianPrior(small_network(), "unit")
    with pytest.raises(ConfigError, match="does not know parameter 'w'"):
        prior.precision_of(BLOCKS["linear"])
    with pytest.raises(ConfigError, match=r"does not know parameter 'w': it covers 0\.weight"):
        prior.precision_of_parameter("w")
    with pytest.raises(ConfigError, match=r"needs parameter '0\.weight' of shape \(4, 2\)"):
        prior.log_density({"0.weight": torch.zeros(4, 3)})
    with pytest.raises(ConfigError, match="at least one trainable parameter"):
        GaussianPrior(nn.ReLU())


def test_units_that_are_not_the_outputs_of_a_block_are_refused() -> None:
    block = random_block({"w": (6, 4)}, (1, 1, 8), (1, 1, 3))
    with pytest.raises(ConfigError, match="structure='unit' does not fit the curvature block of w"):
        GaussianPrior({"w": torch.zeros(6, 4)}, "unit").precision_of(block)
