import itertools

import pytest
import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.kfac import Classification, Regression, estimate
from tests.oracles import dense_ggn


class Residual(nn.Module):
    """Branches, a sum, an in-place activation, a layer used twice: not a Sequential."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 3, 3, padding=1)
        self.first = nn.Conv2d(3, 3, 3, padding=1)
        self.second = nn.Conv2d(3, 3, 3, padding=1, bias=False)
        self.head = nn.Linear(3, 4)

    def forward(self, images: Tensor) -> Tensor:
        features = nn.functional.relu(self.stem(images), inplace=True)
        branch = self.second(nn.functional.relu(self.first(features), inplace=True))
        return self.head((features + branch).mean((2, 3)))


class Twice(nn.Module):
    """h -> tanh(W h) -> tanh(W h) -> head."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.head = nn.Linear(3, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.inner(self.inner(inputs).tanh()).tanh())


class Averaged(nn.Module):
    """LILA Eq. 1 with given copies: inputs (N, S, d), outputs averaged over the S copies."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, copies: Tensor) -> Tensor:
        return self.network(copies.flatten(0, 1)).unflatten(0, copies.shape[:2]).mean(1)


def data(*shape: int, samples: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(samples, *shape, dtype=torch.float64, generator=generator), torch.arange(samples) % 4


def small(*widths: int) -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for wide, narrow in itertools.pairwise(widths):
        layers += [nn.Linear(wide, narrow), nn.Tanh()]
    return nn.Sequential(*layers[:-1]).double()


def test_linear_model_is_exact_for_one_point_and_joint_bias():
    model, (inputs, targets) = small(5, 4), data(5, samples=1)
    (block,) = estimate(model, Classification(), [(inputs, targets)], bias="joint").blocks.values()
    torch.testing.assert_close(block.dense(), dense_ggn(model, Classification(), inputs, block.names), rtol=1e-8, atol=1e-8)


def test_last_layer_with_constant_hessian_is_exact_for_all_data():
    model, (inputs, _) = small(5, 6, 3), data(5, samples=20)
    likelihood = Regression(noise=0.7)
    targets = torch.randn(20, 3, dtype=torch.float64)
    block = estimate(model, likelihood, [(inputs, targets)], bias="joint").blocks["2.weight"]
    torch.testing.assert_close(block.dense(), dense_ggn(model, likelihood, inputs, block.names), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("build", [Residual, Twice])
def test_any_graph_one_point(build):
    """Each block of a layer used once with one position is exact; a use counts as a position."""
    torch.manual_seed(0)
    model = build().double()
    inputs, targets = data(*((1, 4, 4) if build is Residual else (3,)), samples=1)
    blocks = estimate(model, Classification(), [(inputs, targets)]).blocks
    assert set(blocks) == {name for name, _ in model.named_parameters()}
    names = ["head.weight", "head.bias"] + (["stem.bias", "first.bias"] if build is Residual else [])
    for name in names:
        dense = dense_ggn(model, Classification(), inputs, [name])
        torch.testing.assert_close(blocks[name].dense(), dense, rtol=1e-8, atol=1e-8)


def test_a_layer_used_twice_is_expanded_over_its_uses():
    torch.manual_seed(0)
    model, (inputs, targets) = Twice().double(), data(3)
    blocks = estimate(model, Classification(), [(inputs, targets)]).blocks
    # Oracle: the same function with two layers of equal weights; their factors are the factors of the uses.
    split = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 4)).double()
    for place, layer in (("0", model.inner), ("2", model.inner), ("4", model.head)):
        split.get_submodule(place).load_state_dict(layer.state_dict())
    uses = estimate(split, Classification(), [(inputs, targets)]).blocks
    for name in ("weight", "bias"):
        block, first, second = blocks[f"inner.{name}"], uses[f"0.{name}"], uses[f"2.{name}"]
        assert block.rows == 2 * len(inputs)
        torch.testing.assert_close(block.inputs, first.inputs + second.inputs, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(block.outputs, first.outputs + second.outputs, rtol=1e-10, atol=1e-10)


def test_averaged_network_is_lila_equation_15():
    """A = sum_n (mean_s a)(mean_s a)^T, G = sum_n (sum_s g/S) Lambda (sum_s g/S)^T with g the Jacobian of each copy."""
    model = Averaged(small(3, 5, 4))
    copies, targets = data(6, 3)  # 6 copies of each of 5 points
    block = estimate(model, Classification(), [(copies, targets)]).blocks["network.0.weight"]
    network, outputs = model.network, model(copies)
    left, right = torch.zeros(3, 3, dtype=torch.float64), torch.zeros(5, 5, dtype=torch.float64)
    hessians = Classification().hessian(outputs).detach()
    for n in range(len(copies)):
        gradients = []
        for s in range(copies.shape[1]):
            hidden = network[0](copies[n, s])
            gradients.append(torch.func.jacrev(lambda h: network[2](network[1](h)))(hidden.detach()).mT)  # (5, C)
        summed = torch.stack(gradients).sum(0).detach()
        mean = copies[n].mean(0)
        left += torch.outer(mean, mean)
        right += summed @ hessians[n] @ summed.mT / copies.shape[1] ** 2
    torch.testing.assert_close(block.dense(), torch.kron(right, left) / len(copies), rtol=1e-8, atol=1e-8)


def test_averaged_linear_network_is_exact():
    """LILA: the approximation of an averaged network is exact for a linear model."""
    model = Averaged(small(3, 4))
    copies, targets = data(6, 3, samples=1)
    (block,) = estimate(model, Classification(), [(copies, targets)], bias="joint").blocks.values()
    dense = dense_ggn(model, Classification(), copies, block.names)
    torch.testing.assert_close(block.dense(), dense, rtol=1e-8, atol=1e-8)


def test_full_and_diagonal_are_the_dense_matrix():
    model, (inputs, targets) = small(3, 5, 4), data(3)
    names = [name for name, _ in model.named_parameters()]
    dense = dense_ggn(model, Classification(), inputs, names)
    (full,) = estimate(model, Classification(), [(inputs, targets)], structure="full").blocks.values()
    torch.testing.assert_close(full.dense(), dense, rtol=1e-8, atol=1e-8)
    diagonal = estimate(model, Classification(), [(inputs, targets)], structure="diagonal").blocks
    found = torch.cat([block.dense().diagonal() for block in diagonal.values()])
    torch.testing.assert_close(found, dense.diagonal(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("structure", ["kfac", "full"])
def test_monte_carlo_fisher_converges_to_the_ggn(structure):
    model, (inputs, targets) = small(3, 5, 4), data(3)
    exact = estimate(model, Classification(), [(inputs, targets)], structure=structure).blocks
    torch.manual_seed(0)
    errors = []
    for samples in (20, 2000):
        sampled = estimate(
            model, Classification(), [(inputs, targets)], structure=structure, kind="mc", samples=samples
        ).blocks
        errors.append(max(((sampled[k].dense() - exact[k].dense()).norm() / exact[k].dense().norm()).item() for k in exact))
    assert errors[1] < 0.05
    assert errors[1] < errors[0] / 3  # 100 times the samples: a tenth of the error in expectation


def test_empirical_fisher_is_the_sum_of_gradient_outer_products():
    model, (inputs, targets) = small(3, 5, 4), data(3)
    (block,) = estimate(model, Classification(), [(inputs, targets)], structure="full", kind="empirical").blocks.values()
    expected = torch.zeros_like(block.dense())
    for x, t in zip(inputs, targets, strict=True):
        gradients = torch.autograd.grad(Classification().log_likelihood(model(x[None]), t[None]), list(model.parameters()))
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        expected += torch.outer(flat, flat)
    torch.testing.assert_close(block.dense(), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("structure", ["kfac", "diagonal"])
def test_chunks_and_batches_do_not_change_the_result(structure):
    torch.manual_seed(0)
    model, (images, targets) = Residual().double(), data(1, 4, 4, samples=7)
    whole = estimate(model, Classification(), [(images, targets)], structure=structure)
    batches = list(zip(images.split(3), targets.split(3), strict=True))
    parts = estimate(model, Classification(), batches, structure=structure, memory_budget=1)
    assert parts.n_data == 7
    assert parts.log_likelihood == pytest.approx(Classification().log_likelihood(model(images), targets).item(), rel=1e-12)
    for name, block in whole.blocks.items():
        torch.testing.assert_close(parts.blocks[name].dense(), block.dense(), rtol=1e-10, atol=1e-10)


def test_sums_in_double_precision_of_a_single_precision_pass():
    model, (inputs, targets) = small(3, 5, 4).float(), data(3)
    blocks = estimate(model, Classification(), [(inputs.float(), targets)], accumulation=torch.float64).blocks
    assert all(block.inputs.dtype == block.outputs.dtype == torch.float64 for block in blocks.values())


def test_leaves_the_model_as_it_was():
    model, (inputs, targets) = small(3, 5, 4), data(3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    estimate(model, Classification(), [(inputs, targets)])
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())


class Unknown(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4, dtype=torch.float64))

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * self.scale


def test_an_unknown_layer_is_named_with_the_ways_out():
    model, (inputs, targets) = nn.Sequential(small(3, 4), Unknown()), data(3)
    with pytest.raises(ConfigError, match=r"layer '1' \(Unknown\).*1\.scale.*curvature_rules.*exclude=\['1\.scale'\]"):
        estimate(model, Classification(), [(inputs, targets)])
    assert set(estimate(model, Classification(), [(inputs, targets)], exclude=["1.scale"]).blocks) == {
        "0.0.weight",
        "0.0.bias",
    }
    model[1].scale.requires_grad_(False)
    assert len(estimate(model, Classification(), [(inputs, targets)]).blocks) == 2


def test_a_subclass_with_another_forward_is_not_taken_for_its_parent():
    class Doubled(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return 2 * super().forward(input)

    with pytest.raises(ConfigError, match="Doubled"):
        estimate(Doubled(3, 4).double(), Classification(), [data(3)])


def test_batch_norm_and_dropout_in_training_mode_are_refused():
    for layer, reason in ((nn.BatchNorm1d(4), "whole batch"), (nn.Dropout(0.5), "random")):
        model = nn.Sequential(nn.Linear(3, 4), layer).double()
        for structure in ("kfac", "diagonal"):
            with pytest.raises(ConfigError, match=rf"layer '1'.*{reason}.*eval"):
                estimate(model, Classification(), [data(3)], structure=structure)


@pytest.mark.parametrize(
    ("loss", "instead"),
    [
        (nn.CrossEntropyLoss(), "Classification"),
        (nn.functional.mse_loss, "Regression"),
        (nn.HingeEmbeddingLoss(), "Likelihood"),
    ],
)
def test_a_loss_is_not_a_likelihood(loss, instead):
    with pytest.raises(ConfigError, match=f"is a loss, not a likelihood.*{instead}"):
        estimate(small(3, 4), loss, [data(3)])


def test_more_errors_that_teach():
    class Bypassed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 4).double()

        def forward(self, inputs: Tensor) -> Tensor:
            return inputs @ self.linear.weight.mT

    with pytest.raises(ConfigError, match=r"'linear'.*was not called"):
        estimate(Bypassed(), Classification(), [data(3)])
    tied = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)).double()
    tied[1].weight = tied[0].weight
    with pytest.raises(ConfigError, match="one tensor in two layers"):
        estimate(tied, Classification(), [data(3)])
    with pytest.raises(ConfigError, match="no batches"):
        estimate(small(3, 4), Classification(), [])
    with pytest.raises(ConfigError, match="structure='dense' is unknown"):
        estimate(small(3, 4), Classification(), [data(3)], structure="dense")
    with pytest.raises(ConfigError, match="kind='exact' is unknown"):
        estimate(small(3, 4), Classification(), [data(3)], kind="exact")
    with pytest.raises(ConfigError, match="matrix of"):
        estimate(small(200, 200), Classification(), [data(200)], structure="full")

    class Overwrites(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 4).double()

        def forward(self, inputs: Tensor) -> Tensor:
            features = inputs * 2
            outputs = self.linear(features)
            features.add_(1)
            return outputs

    with pytest.raises(ConfigError, match="changed in place"):
        estimate(Overwrites(), Classification(), [data(3)])
