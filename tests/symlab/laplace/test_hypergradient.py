import pytest
import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.kfac import Classification, Regression
from symlab.laplace import GaussianPrior, Laplace
from tests.oracles import finite_difference


class Invariant(nn.Module):
    """f^(x) = mean_s f(x + eta * direction_s): a small invariant network with a hyperparameter eta (2,) on its inputs."""

    def __init__(self, network: nn.Module, copies: int = 3):
        super().__init__()
        self.network = network
        self.eta = nn.Parameter(torch.tensor([0.7, -0.4], dtype=torch.float64))
        self.register_buffer("noise", torch.linspace(-1, 1, copies * 2, dtype=torch.float64).reshape(copies, 2))

    def forward(self, inputs: Tensor) -> Tensor:
        shift = (self.noise * self.eta).repeat(1, inputs.shape[1] // 2) if inputs.dim() == 2 else None
        if shift is None:
            shift = (self.noise * self.eta).sum(1)[:, None, None, None]
        copies = (inputs[:, None] * (1 + shift) + shift).flatten(0, 1)
        return self.network(copies).unflatten(0, (len(inputs), -1)).mean(1)


def perceptron() -> nn.Module:
    torch.manual_seed(0)
    return Invariant(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double())


def convolutional() -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), nn.Tanh(), nn.Flatten(), nn.Linear(32, 3)]
    return Invariant(nn.Sequential(*layers).double())


def data(model: nn.Module, samples: int = 6) -> tuple[Tensor, Tensor]:
    shape = (4,) if isinstance(model.network[0], nn.Linear) else (1, 4, 4)
    generator = torch.Generator().manual_seed(2)
    return torch.randn(samples, *shape, dtype=torch.float64, generator=generator), torch.arange(samples) % 3


def fit(model: nn.Module, batches: list, structure: str, prior: str = "tensor", kind: str = "ggn", **options) -> Laplace:
    chosen = GaussianPrior({name: value for name, value in model.named_parameters() if name != "eta"}, prior, 0.8)
    likelihood = options.pop("likelihood", Classification())
    return Laplace.fit(model, likelihood, batches, structure, kind, chosen, exclude=["eta"], **options)


@pytest.mark.parametrize("build", [perceptron, convolutional])
@pytest.mark.parametrize("structure", ["kfac", "diagonal", "full"])
@pytest.mark.parametrize("kind", ["ggn", "empirical"])
def test_whole_objective_against_finite_differences(build, structure, kind):
    model = build()
    batches = [data(model)]
    found = fit(model, batches, structure, kind=kind).hyperparameter_gradient(batches, [model.eta])[0]

    def value(eta: Tensor) -> Tensor:
        with torch.no_grad():
            model.eta.copy_(eta)
        return fit(model, batches, structure, kind=kind).log_marginal_likelihood().detach()

    expected = finite_difference(value, model.eta.detach().clone())
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_equals_autograd_through_the_log_determinant_of_the_written_out_factors():
    """The oracle keeps the graph of everything: factors by their definition, Kronecker products written out, logdet."""
    model = perceptron()
    inputs, targets = data(model)
    found = fit(model, [(inputs, targets)], "kfac").hyperparameter_gradient([(inputs, targets)], [model.eta])[0]
    first, activation, last = model.network
    shift = (model.noise * model.eta).repeat(1, 2)
    copies = inputs[:, None] * (1 + shift) + shift  # (N, S, 4)
    hidden = first(copies)
    features = activation(hidden)
    outputs = last(features).mean(1)
    hessians = Classification().hessian(outputs)
    slope = (1 - features.square()).mean(1)[:, :, None] * last.weight.mT  # (N, 5, C), summed over copies
    one = torch.ones(len(inputs), 1, dtype=torch.float64)
    whole = torch.eye(3, dtype=torch.float64).expand(len(inputs), 3, 3)
    log_det = torch.zeros((), dtype=torch.float64)
    for a, g in ((copies.mean(1), slope), (one, slope), (features.mean(1), whole), (one, whole)):
        left = torch.einsum("nd,ne->de", a, a)
        right = torch.einsum("nic,ncd,njd->ij", g, hessians, g)
        matrix = torch.kron(right, left) / len(inputs)
        log_det = log_det + torch.logdet(matrix + 0.8 * torch.eye(len(matrix), dtype=torch.float64))
    objective = Classification().log_likelihood(outputs, targets) - 0.5 * log_det
    (expected,) = torch.autograd.grad(objective, model.eta)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("prior", ["scalar", "layer", "unit"])
def test_every_prior_structure(prior):
    model = perceptron()
    batches = [data(model)]
    found = fit(model, batches, "kfac", prior).hyperparameter_gradient(batches, [model.eta])[0]

    def value(eta: Tensor) -> Tensor:
        with torch.no_grad():
            model.eta.copy_(eta)
        return fit(model, batches, "kfac", prior).log_marginal_likelihood().detach()

    torch.testing.assert_close(found, finite_difference(value, model.eta.detach().clone()), rtol=1e-6, atol=1e-6)


def test_regression_and_joint_biases():
    model = perceptron()
    inputs, _ = data(model)
    batches = [(inputs, torch.sin(inputs[:, :3]))]
    options = {"likelihood": Regression(0.5), "bias": "joint", "prior": "layer"}
    found = fit(model, batches, "kfac", **options).hyperparameter_gradient(batches, [model.eta])[0]

    def value(eta: Tensor) -> Tensor:
        with torch.no_grad():
            model.eta.copy_(eta)
        return fit(model, batches, "kfac", **options).log_marginal_likelihood().detach()

    torch.testing.assert_close(found, finite_difference(value, model.eta.detach().clone()), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("structure", ["kfac", "diagonal"])
def test_chunks_add_up_and_parts_are_scaled_to_the_whole(structure):
    model = perceptron()
    inputs, targets = data(model)
    whole = [(inputs, targets)]
    laplace = fit(model, whole, structure)
    exact = laplace.hyperparameter_gradient(whole, [model.eta])[0]
    laplace.fit_options["memory_budget"] = 1
    torch.testing.assert_close(laplace.hyperparameter_gradient(whole, [model.eta])[0], exact, rtol=1e-10, atol=1e-10)
    halves = [
        laplace.hyperparameter_gradient([(x, t)], [model.eta])[0]
        for x, t in zip(inputs.split(3), targets.split(3), strict=True)
    ]
    torch.testing.assert_close(torch.stack(halves).mean(0), exact, rtol=1e-10, atol=1e-10)  # unbiased over batches


def test_a_hyperparameter_outside_of_the_model():
    """Inputs that depend on a hyperparameter through a graph of their own."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    base, targets = torch.randn(6, 4, dtype=torch.float64), torch.arange(6) % 3
    scale = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    found = Laplace.fit(model, Classification(), [(base * scale.detach(), targets)]).hyperparameter_gradient(
        [(base * scale, targets)], [scale]
    )[0]

    def value(s: Tensor) -> Tensor:
        return Laplace.fit(model, Classification(), [(base * s, targets)]).log_marginal_likelihood().detach()

    torch.testing.assert_close(found, finite_difference(value, scale.detach().clone()), rtol=1e-6, atol=1e-6)


def test_errors():
    model = perceptron()
    batches = [data(model)]
    laplace = fit(model, batches, "kfac")
    with pytest.raises(ConfigError, match=r"hyperparameters\[0\] does not require a gradient"):
        laplace.hyperparameter_gradient(batches, [torch.zeros(())])
    with pytest.raises(ConfigError, match="no batches"):
        laplace.hyperparameter_gradient([], [model.eta])
    laplace.fit_options = None
    with pytest.raises(ConfigError, match=r"Laplace\.fit"):
        laplace.hyperparameter_gradient(batches, [model.eta])
