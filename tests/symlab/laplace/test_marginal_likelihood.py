"""The oracle is linear regression, where the Laplace approximation is exact: y ~ N(0, sigma^2 I + Phi Delta^-1 Phi^T)."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import MultivariateNormal

from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification, Regression
from symlab.laplace.marginal_likelihood import DataFit, GaussianDataFit, LogMarginalLikelihood, optimise_prior
from symlab.laplace.prior import GaussianPrior
from symlab.laplace.spectrum import Spectrum
from tests.symlab.laplace.cases import (
    dense_curvature,
    dense_jacobian,
    diagonal_blocks,
    full_block,
    kfac_blocks,
    small_network,
)


class LinearProblem:
    """12 points, 3 inputs, 2 outputs, weights and biases under a prior of the given structure."""

    def __init__(self, structure: str):
        generator = torch.Generator().manual_seed(0)
        self.inputs = torch.randn(12, 3, generator=generator, dtype=torch.float64)
        truth = torch.randn(3, 2, generator=generator, dtype=torch.float64)
        self.targets = self.inputs @ truth + 0.4 * torch.randn(12, 2, generator=generator, dtype=torch.float64)
        self.model = nn.Linear(3, 2).double()
        self.likelihood = Regression(noise=0.6)
        self.prior = GaussianPrior(self.model, structure)
        with torch.no_grad():
            self.prior.log_precision += torch.linspace(-1, 1, len(self.prior.log_precision))
        self.features = dense_jacobian(self.model, self.inputs).flatten(0, 1)  # (N C, P)

    def delta(self) -> Tensor:
        parameters = dict(self.model.named_parameters())
        return torch.cat([self.prior.precision_of_parameter(n).expand(v.shape).reshape(-1) for n, v in parameters.items()])

    def exact_evidence(self) -> Tensor:
        noise = self.likelihood.log_noise.mul(2).exp() * torch.eye(24, dtype=torch.float64)
        covariance = noise + self.features / self.delta() @ self.features.T
        return MultivariateNormal(torch.zeros(24, dtype=torch.float64), covariance).log_prob(self.targets.reshape(-1))

    def fit(self) -> LogMarginalLikelihood:
        """Moves the model to its mode and takes the curvature there."""
        with torch.no_grad():
            weight = self.likelihood.log_noise.mul(-2).exp()
            matrix = weight * self.features.T @ self.features + self.delta().diag()
            mode = torch.linalg.solve(matrix, weight * self.features.T @ self.targets.reshape(-1))
            nn.utils.vector_to_parameters(mode, self.model.parameters())
            spectra = [Spectrum(block) for block in full_block(self.model, self.likelihood, self.inputs).values()]
            value = self.likelihood.log_likelihood(self.model(self.inputs), self.targets).item()
        data_fit = GaussianDataFit.from_log_likelihood(self.likelihood, value, self.targets.numel())
        return LogMarginalLikelihood(spectra, self.prior, dict(self.model.named_parameters()), data_fit)


@pytest.mark.parametrize("structure", ["scalar", "tensor", "unit"])
def test_equals_the_exact_evidence_of_linear_regression_with_its_gradients(structure) -> None:
    problem = LinearProblem(structure)
    approximate, exact = problem.fit()(), problem.exact_evidence()
    torch.testing.assert_close(approximate, exact, rtol=1e-10, atol=1e-9)
    # At the mode the first derivative in the weights vanishes, so gradients in hyperparameters agree as well.
    learnt = [problem.prior.log_precision, problem.likelihood.log_noise]
    for have, want in zip(torch.autograd.grad(approximate, learnt), torch.autograd.grad(exact, learnt), strict=True):
        torch.testing.assert_close(have, want, rtol=1e-8, atol=1e-8)


def test_alternating_fits_and_steps_reach_the_optimum_of_the_exact_evidence() -> None:
    problem, oracle = LinearProblem("scalar"), LinearProblem("scalar")
    learnt = [oracle.prior.log_precision, oracle.likelihood.log_noise]
    optimizer = torch.optim.LBFGS(learnt, max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-10)

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = -oracle.exact_evidence()
        value.backward()
        return value

    optimizer.step(loss)
    for rate in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        for _ in range(5):
            optimise_prior(problem.fit(), steps=8, learning_rate=rate, learn_noise=True)
    torch.testing.assert_close(problem.prior.log_precision, oracle.prior.log_precision, rtol=0, atol=1e-3)
    torch.testing.assert_close(problem.likelihood.log_noise, oracle.likelihood.log_noise, rtol=0, atol=1e-3)


@pytest.mark.parametrize("structure", ["scalar", "layer", "tensor", "unit"])
@pytest.mark.parametrize("curvature", ["joint", "apart", "diagonal", "full"])
def test_equals_the_formula_written_out_densely(structure, curvature) -> None:
    model, likelihood = small_network(), Classification()
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(9, 2, generator=generator, dtype=torch.float64)
    targets = torch.arange(9) % 3
    blocks = {
        "joint": lambda: kfac_blocks(model, likelihood, inputs, joint=True),
        "apart": lambda: kfac_blocks(model, likelihood, inputs, joint=False),
        "diagonal": lambda: diagonal_blocks(model, likelihood, inputs),
        "full": lambda: full_block(model, likelihood, inputs),
    }[curvature]()
    prior = GaussianPrior(model, structure)
    with torch.no_grad():
        prior.log_precision.copy_(torch.linspace(-2, 1, len(prior.log_precision)))
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    log_likelihood = likelihood.log_likelihood(model(inputs), targets).item()
    objective = LogMarginalLikelihood([Spectrum(b) for b in blocks.values()], prior, parameters, DataFit(log_likelihood))
    delta = torch.cat([prior.precision_of_parameter(name).expand(v.shape).reshape(-1) for name, v in parameters.items()])
    theta = torch.cat([value.reshape(-1) for value in parameters.values()])
    hessian = dense_curvature(model, blocks) + delta.diag()
    log_prior = 0.5 * (delta.log() - delta * theta.square() - math.log(2 * math.pi)).sum()
    expected = log_likelihood + log_prior - 0.5 * torch.logdet(hessian / (2 * math.pi))
    torch.testing.assert_close(objective(), expected, rtol=1e-10, atol=1e-9)
    (have,), (want,) = (torch.autograd.grad(value, prior.log_precision) for value in (objective(), expected))
    torch.testing.assert_close(have, want, rtol=1e-8, atol=1e-9)


def test_steps_rise_to_the_fixed_point_of_mackay() -> None:
    """At the optimum of a scalar precision, delta |theta|^2 is the effective number of parameters."""
    problem = LinearProblem("scalar")
    objective = problem.fit()
    trajectory = optimise_prior(objective, steps=300, learning_rate=0.05)
    values = trajectory.log_marginal_likelihood
    assert values.shape == (301,)
    assert trajectory.log_precision.shape == (301, 1)
    assert trajectory.log_noise is None
    assert (values[1:11] > values[:10]).all()
    torch.testing.assert_close(values[-1], objective().detach())
    delta = objective.prior.log_precision.exp()
    gamma = sum(s.effective_parameters(delta) for s in objective.spectra)
    square = nn.utils.parameters_to_vector(problem.model.parameters()).square().sum()
    assert (delta * square).item() == pytest.approx(gamma.item(), rel=1e-3)


def test_an_optimizer_keeps_its_moments_between_calls() -> None:
    once, twice = LinearProblem("scalar").fit(), LinearProblem("scalar").fit()
    whole = optimise_prior(once, steps=6, optimizer=torch.optim.Adam(once.prior.parameters(), lr=0.1))
    optimizer = torch.optim.Adam(twice.prior.parameters(), lr=0.1)
    for _ in range(2):
        halves = optimise_prior(twice, steps=3, optimizer=optimizer)
    assert torch.equal(halves.log_precision[-1], whole.log_precision[-1])
    assert twice.prior.log_precision.grad is None


def test_noise_of_other_likelihoods_and_foreign_parameters_are_refused() -> None:
    problem = LinearProblem("scalar")
    objective = problem.fit()
    parameters = dict(problem.model.named_parameters())
    plain = LogMarginalLikelihood(objective.spectra, problem.prior, parameters, DataFit(-3.0))
    with pytest.raises(ConfigError, match="only a regression has noise to learn"):
        optimise_prior(plain, learn_noise=True)
    only_weight = GaussianPrior({"weight": problem.model.weight})
    with pytest.raises(ConfigError, match=r"without prior \['bias'\]"):
        LogMarginalLikelihood(objective.spectra, only_weight, parameters, DataFit(-3.0))
    with pytest.raises(ConfigError, match="once"):
        LogMarginalLikelihood([*objective.spectra, *objective.spectra], problem.prior, parameters, DataFit(-3.0))
