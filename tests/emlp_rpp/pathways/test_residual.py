"""The prior of A + B: closed form and samples; its limits; what a misspecified layer can still learn."""

import pytest
import torch
from torch import nn

from emlp_rpp.groups import SL, SO, Embedded, O
from emlp_rpp.networks import EquivariantLinear
from emlp_rpp.pathways import (
    Convolution,
    Dense,
    GroupConvolution,
    PathwayEMLP,
    PathwayLinear,
    PathwayPrior,
    ResidualPathway,
    adam,
    equivariant_shares,
    parameter_groups,
)
from emlp_rpp.pathways.prior import negative_log_prior
from emlp_rpp.representations import Scalar, V
from symlab.errors import ConfigError
from symlab.groups import C1, C4
from tests.emlp_rpp.pathways.oracles import SPACES, flat, orthonormal_basis, parameter_map

PRIOR = PathwayPrior(equivariant_variance=2.0, residual_variance=0.3)
every_space = pytest.mark.parametrize("name", SPACES)


def beside_dense(name: str, prior: PathwayPrior = PRIOR) -> ResidualPathway:
    torch.manual_seed(2)
    layer = SPACES[name]().double()
    weight, _ = layer.dense()
    shapes = getattr(layer, "shape_in", (weight.shape[1],)), getattr(layer, "shape_out", (weight.shape[0],))
    return ResidualPathway(layer, Dense(*shapes).double(), prior)


@every_space
def test_the_penalty_is_the_density_of_both_gaussians(name: str):
    """-log N(A; 0, sigma_a^2 Q Q^T) within the space of Q, and -log N(B; 0, sigma_b^2 I), from their covariances."""
    layer = beside_dense(name)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    basis = orthonormal_basis(layer.equivariant)
    inside = basis.mT @ flat(*layer.equivariant.dense())
    free = flat(*layer.residual.dense())
    expected = -torch.distributions.Normal(0.0, 2.0**0.5).log_prob(inside).sum()
    expected = expected - torch.distributions.Normal(0.0, 0.3**0.5).log_prob(free).sum()
    constant = len(inside) * torch.tensor(2 * torch.pi * 2.0).log() / 2
    constant = constant + len(free) * torch.tensor(2 * torch.pi * 0.3).log() / 2
    torch.testing.assert_close(layer.negative_log_prior(), expected - constant, check_dtype=False, atol=1e-5, rtol=1e-6)


some_spaces = pytest.mark.parametrize("name", ["convolution", "strided circular", "p4", "O(3)", "S(3)"])


def variances_of_parameters(layer: nn.Module) -> torch.Tensor:
    """The Gaussian that the penalty sum_j m_j theta_j^2 / (2 sigma_a^2) is of: sigma_a^2 / m_j."""
    known = layer.multiplicities()
    m = torch.cat([known[each].double().expand_as(p).reshape(-1) for each, p in layer.named_parameters()])
    return PRIOR.equivariant_variance / m


@some_spaces
def test_the_covariance_of_both_paths_is_equation_3_1(name: str):
    layer = beside_dense(name).equivariant
    columns, basis = parameter_map(layer), orthonormal_basis(layer)
    closed = columns @ torch.diag(variances_of_parameters(layer)) @ columns.mT
    closed = closed + PRIOR.residual_variance * torch.eye(len(basis), dtype=torch.float64)
    torch.testing.assert_close(closed, PRIOR.covariance(basis), atol=1e-8, rtol=1e-8)


@some_spaces
def test_samples_of_both_paths_have_the_covariance_of_equation_3_1(name: str):
    """Seen from some directions, six of them within the space."""
    layer = beside_dense(name).equivariant
    columns, basis = parameter_map(layer), orthonormal_basis(layer)
    generator, count = torch.Generator().manual_seed(0), 20_000
    drawn = torch.randn(count, columns.shape[1], generator=generator, dtype=torch.float64)
    inside = (drawn * variances_of_parameters(layer).sqrt()) @ columns.mT
    free = PRIOR.residual_variance**0.5 * torch.randn(count, len(basis), generator=generator, dtype=torch.float64)
    directions = torch.linalg.qr(torch.randn(len(basis), 12, generator=generator, dtype=torch.float64))[0]
    directions = torch.cat([directions, basis[:, :6]], 1)
    seen = (inside + free) @ directions
    expected = directions.mT @ PRIOR.covariance(basis) @ directions
    torch.testing.assert_close(seen.mT @ seen / count, expected, atol=6 * float(expected.max()) / count**0.5, rtol=0.0)


def ridge(features: torch.Tensor, targets: torch.Tensor, covariance: torch.Tensor) -> torch.Tensor:
    """The weights that minimise |X w - y|^2 / 2 + w^T C^-1 w / 2, written without the inverse."""
    kernel = features @ covariance @ features.mT
    return covariance @ features.mT @ torch.linalg.solve(kernel + torch.eye(len(kernel), dtype=kernel.dtype), targets)


def most_probable(prior: PathwayPrior, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """A + B after Newton's step on |f(x) - y|^2 / 2 - log p(A, B), which is exact: all is quadratic."""
    rep_in, rep_out = (Scalar + V)(O(3)), (Scalar + V)(O(3))
    torch.manual_seed(0)
    layer = PathwayLinear(rep_in, rep_out, prior).double()
    parameters = dict(layer.named_parameters())
    sizes = [parameter.numel() for parameter in parameters.values()]

    def objective(vector: torch.Tensor) -> torch.Tensor:
        values = {n: part.view_as(p) for (n, p), part in zip(parameters.items(), vector.split(sizes))}
        return torch.func.functional_call(_Objective(layer, x, y), {f"layer.{n}": v for n, v in values.items()}, ())

    start = torch.zeros(sum(sizes), dtype=torch.float64)
    gradient = torch.autograd.functional.jacobian(objective, start)
    curvature = torch.autograd.functional.hessian(objective, start)
    best = start - torch.linalg.solve(curvature, gradient)
    with torch.no_grad():
        for parameter, part in zip(parameters.values(), best.split(sizes)):
            parameter.copy_(part.view_as(parameter))
    return flat(*layer.dense())


class _Objective(nn.Module):
    def __init__(self, layer: nn.Module, x: torch.Tensor, y: torch.Tensor):
        super().__init__()
        self.layer, self.x, self.y = layer, x, y

    def forward(self) -> torch.Tensor:
        return (self.layer(self.x) - self.y).square().sum() / 2 + negative_log_prior(self.layer)


@pytest.fixture
def pairs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(6, 4, generator=generator, dtype=torch.float64) for _ in range(2))


def dense_problem(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and targets of y = W x + b with (W, b) as one vector."""
    identity = torch.eye(4, dtype=torch.float64)
    rows = torch.stack([torch.cat([torch.outer(e, row).reshape(-1), e]) for row in x for e in identity])
    return rows, y.reshape(-1)


def test_the_most_probable_weights_are_those_of_the_gaussian_of_equation_3_1(pairs):
    x, y = pairs
    layer = EquivariantLinear((Scalar + V)(O(3)), (Scalar + V)(O(3))).double()
    covariance = PRIOR.covariance(orthonormal_basis(layer))
    torch.testing.assert_close(most_probable(PRIOR, x, y), ridge(*dense_problem(x, y), covariance), atol=1e-8, rtol=1e-8)


def test_small_residual_variance_gives_the_equivariant_solution_and_small_equivariant_variance_the_free_one(pairs):
    x, y = pairs
    basis = orthonormal_basis(EquivariantLinear((Scalar + V)(O(3)), (Scalar + V)(O(3))).double())
    problem = dense_problem(x, y)
    constrained, free = ridge(*problem, 2.0 * basis @ basis.mT), ridge(*problem, 0.3 * torch.eye(20, dtype=torch.float64))
    distances = [float((most_probable(PathwayPrior(2.0, v), x, y) - constrained).norm()) for v in (1e-2, 1e-4, 1e-6)]
    assert distances[2] < 1e-4
    assert distances[0] > 50 * distances[1] > 2500 * distances[2]
    distances = [float((most_probable(PathwayPrior(v, 0.3), x, y) - free).norm()) for v in (1e-2, 1e-4, 1e-6)]
    assert distances[2] < 1e-4
    assert distances[0] > 50 * distances[1] > 2500 * distances[2]
    torch.testing.assert_close(most_probable(PathwayPrior(2.0, 0.0), x, y), constrained, atol=1e-8, rtol=1e-8)
    torch.testing.assert_close(most_probable(PathwayPrior(0.0, 0.3), x, y), free, atol=1e-8, rtol=1e-8)


def test_a_misspecified_network_fits_a_function_without_symmetry():
    """Only the third coordinates matter, which neither SO(3) nor SL(3) knows."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 6, generator=generator)
    y = (x[:, 2:3] + x[:, 5:6].sin()) * 0.5
    for group in (SO(3), SL(3)):
        torch.manual_seed(0)
        network = PathwayEMLP((2 * V)(group), Scalar(group), channels=32, layers=2, prior=PathwayPrior(1e5, 1e5))
        optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
        for _ in range(600):
            optimizer.zero_grad()
            error = (network(x) - y).square().mean()
            (error + negative_log_prior(network) / len(x)).backward()
            optimizer.step()
        assert error.item() < 1e-3, group


def test_shares_of_the_equivariant_subspace():
    layer = beside_dense("O(3)")
    nn.init.zeros_(layer.residual.weight)
    nn.init.zeros_(layer.residual.bias)
    assert layer.equivariant_share() == pytest.approx(1.0, abs=1e-12)
    nn.init.normal_(layer.residual.weight)
    basis, whole = orthonormal_basis(layer.equivariant), flat(*layer.dense())
    expected = float((basis.mT @ whole).square().sum() / whole.square().sum())
    assert layer.equivariant_share() == pytest.approx(expected, abs=1e-8)
    network = PathwayEMLP(V(O(3)), V(O(3)), channels=16, layers=1, prior=PRIOR)
    assert set(equivariant_shares(network)) == {"blocks.0.linear", "output"}
    assert all(share > 0.99 for share in equivariant_shares(network).values())  # the residual starts small


def test_a_group_broken_to_its_subgroup():
    """The residual of a subgroup has the covariance sigma_a^2 Q_G Q_G^T + sigma_b^2 Q_H Q_H^T, with Q_G inside Q_H."""
    torch.manual_seed(0)
    large, small = GroupConvolution(1, 1, 3, C4).double(), GroupConvolution(1, 1, 3, C4, C1).double()
    outer, inner = orthonormal_basis(small), orthonormal_basis(large)
    torch.testing.assert_close(outer @ (outer.mT @ inner), inner, atol=1e-10, rtol=0)
    layer = ResidualPathway(large, small, PRIOR)
    x = torch.randn(2, 4, 3, 3, dtype=torch.float64)
    torch.testing.assert_close(layer(x), large(x) + small(x))
    rep = (2 * V)(O(3))
    linear = PathwayLinear(rep, rep, PRIOR, subgroup=Embedded(O(2)))
    assert isinstance(linear.residual, EquivariantLinear)


def test_what_does_not_fit_is_explained():
    with pytest.raises(ConfigError, match=r"prior\.residual_variance=-1\.0 does not fit"):
        PathwayPrior(1.0, -1.0)
    with pytest.raises(ConfigError, match="both variances are 0"):
        PathwayPrior(0.0, 0.0)
    with pytest.raises(ConfigError, match="the residual path is there if its variance is positive and only then"):
        ResidualPathway(Dense((2,), (2,)), Dense((2,), (2,)), PathwayPrior(1.0, 0.0))
    with pytest.raises(ConfigError, match="Linear is no weight space"):
        ResidualPathway(nn.Linear(2, 2), Dense((2,), (2,)), PRIOR)
    with pytest.raises(ConfigError, match="has no share of it"):
        ResidualPathway(None, Dense((2,), (2,)), PathwayPrior(0.0, 1.0)).equivariant_share()
    with pytest.raises(ConfigError, match="meets itself"):
        Convolution((1, 2, 2), 1, padding="circular")


def test_the_residual_has_a_learning_rate_of_its_own_where_it_is_not_alone():
    prior = PathwayPrior(2.0, 0.3, residual_rate=0.05)
    network = PathwayEMLP(V(O(3)), V(O(3)), channels=16, layers=1, prior=prior)
    optimizer = adam(network, 0.01)
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    slow = {names[id(p)] for group in optimizer.param_groups if group["lr"] == pytest.approx(5e-4) for p in group["params"]}
    assert slow == {name for name in names.values() if ".residual." in name or name.endswith("swish_weight")}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(names)
    alone = PathwayEMLP(V(O(3)), V(O(3)), channels=16, layers=1, prior=PathwayPrior(0.0, 0.3))
    assert [group["factor"] for group in parameter_groups(alone)] == [1.0]
