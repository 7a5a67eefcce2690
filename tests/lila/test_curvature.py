"""Eqs. 11-16 of an averaged network, against the same written out: dense Jacobians, sums over copies, finite differences."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from lila.affine import AffineDistribution
from lila.averaged import AveragedNetwork
from lila.circle import RotationDistribution
from symlab.kfac import Classification, Regression, estimate
from symlab.laplace import GaussianPrior, Laplace
from symlab.trainer.descent import weights_of
from tests.oracles import finite_difference

ETA = (0.12, -0.23, 0.7, 0.31, -0.17, 0.2)
SAMPLES = 3


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(25, 4), nn.Tanh(), nn.Linear(4, 3))


def convolutional() -> nn.Module:
    layers = [nn.Conv2d(1, 2, 3), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(2, 3, 1), nn.Flatten(), nn.Linear(3, 3)]
    return nn.Sequential(*layers)


def pooling_first() -> nn.Module:
    """What the first layer gives is pooled right away, in windows that overlap: ``symlab.kfac.shared_shift``."""
    layers = [nn.Conv2d(1, 2, 2), nn.MaxPool2d(2, 1), nn.Tanh(), nn.Conv2d(2, 3, 2), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(3, 3))


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(25, 3))


def averaged_by(build) -> AveragedNetwork:
    torch.manual_seed(0)
    return AveragedNetwork(build().double(), AffineDistribution(ETA), SAMPLES)


def data(count: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(count, 1, 5, 5, dtype=torch.float64, generator=generator), torch.arange(count) % 3


def batches(averaged: AveragedNetwork, count: int = 5, size: int = 2):
    """Always the same draws, batch by batch."""
    inputs, targets = data(count)
    for index, (some, labels) in enumerate(zip(inputs.split(size), targets.split(size), strict=True)):
        yield averaged.copies(some, torch.Generator().manual_seed(index)), labels


def all_copies(averaged: AveragedNetwork, count: int = 5) -> tuple[Tensor, Tensor]:
    parts = list(batches(averaged, count))
    return torch.cat([copies.detach() for copies, _ in parts]), torch.cat([targets for _, targets in parts])


def mean_jacobian(averaged: AveragedNetwork, copies: Tensor, name: str) -> Tensor:
    """Eq. 11: 1/S sum_s d f(x_s) / d theta of one parameter tensor, copy by copy: (N, C, P)."""
    parameter = averaged.get_parameter(name)
    rows = []
    for point in copies:
        total = torch.zeros(3, parameter.numel(), dtype=torch.float64)
        for copy in point:
            outputs = averaged.network(copy[None])[0]
            total += torch.stack([torch.autograd.grad(o, parameter, retain_graph=True)[0].flatten() for o in outputs])
        rows.append(total / len(point))
    return torch.stack(rows)


def ggn_block(averaged: AveragedNetwork, copies: Tensor, name: str, likelihood) -> Tensor:
    """Eq. 12 for one parameter tensor."""
    jacobians = mean_jacobian(averaged, copies, name)
    outputs = torch.stack([torch.stack([averaged.network(copy[None])[0] for copy in point]).mean(0) for point in copies])
    return torch.einsum("ncp,ncd,ndq->pq", jacobians, likelihood.hessian(outputs).detach(), jacobians)


@pytest.mark.parametrize("build", [perceptron, convolutional])
def test_equation_12(build):
    averaged = averaged_by(build)
    copies, _ = all_copies(averaged)
    found = estimate(averaged, Classification(), batches(averaged), structure="full", exclude=["distribution"])
    (block,) = found.blocks.values()
    jacobians = torch.cat([mean_jacobian(averaged, copies, name) for name in block.names], 2)
    outputs = averaged(copies)
    expected = torch.einsum("ncp,ncd,ndq->pq", jacobians, Classification().hessian(outputs).detach(), jacobians)
    torch.testing.assert_close(block.dense(), expected, rtol=1e-10, atol=1e-10)
    diagonal = estimate(averaged, Classification(), batches(averaged), structure="diagonal", exclude=["distribution"])
    found_diagonal = torch.cat([diagonal.blocks[name].dense().diagonal() for name in block.names])
    torch.testing.assert_close(found_diagonal, expected.diagonal(), rtol=1e-10, atol=1e-10)


def layer_sums(averaged: AveragedNetwork, layer: nn.Module, point: Tensor) -> tuple[Tensor, Tensor]:
    """sum_s a^(s) and sum_s g^(s) of one data point, copy by copy: the layer's inputs, and d f / d outputs (C, ...)."""
    inputs, gradients = [], []
    for copy in point:
        caught = []
        handle = layer.register_forward_hook(lambda module, given, output, caught=caught: caught.append((given[0], output)))
        outputs = averaged.network(copy[None])[0]
        handle.remove()
        ((given, output),) = caught
        inputs.append(given[0].detach())
        gradients.append(torch.stack([torch.autograd.grad(o, output, retain_graph=True)[0][0] for o in outputs]))
    return torch.stack(inputs).sum(0), torch.stack(gradients).sum(0)


@pytest.mark.parametrize(
    ("build", "index", "kernel"),
    [
        (perceptron, 1, None),
        (perceptron, 3, None),
        (convolutional, 0, 3),
        (convolutional, 5, None),
        (pooling_first, 0, 2),
        (pooling_first, 3, 2),
    ],
)
def test_equation_15(build, index, kernel):
    """A^ = sum_n (sum_s a / S) (sum_s a / S)^T and G^ = sum_n (sum_s g / S) Lambda^ (sum_s g / S)^T; in a convolution summed
    over positions too, with N T rows."""
    averaged = averaged_by(build)
    copies, _ = all_copies(averaged)
    layer = averaged.network[index]
    hessians = Classification().hessian(averaged(copies)).detach()
    factor_a = factor_g = torch.zeros(())
    rows = 0
    for point, hessian in zip(copies, hessians, strict=True):
        a, g = layer_sums(averaged, layer, point)
        a, g = a / SAMPLES, g / SAMPLES
        if kernel is None:
            positions = [(a, g)]
        else:
            places = [(i, j) for i in range(g.shape[2]) for j in range(g.shape[3])]
            positions = [(a[:, i : i + kernel, j : j + kernel].flatten(), g[:, :, i, j]) for i, j in places]
        for patch, gradient in positions:
            factor_a = factor_a + torch.outer(patch, patch)
            factor_g = factor_g + gradient.T @ hessian @ gradient
            rows += 1
    found = estimate(averaged, Classification(), batches(averaged), exclude=["distribution"]).blocks
    block = found[f"network.{index}.weight"]
    assert block.rows == rows
    torch.testing.assert_close(block.inputs[0, 0], factor_a, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(block.outputs[0, 0], factor_g, rtol=1e-10, atol=1e-10)


def rectified(inplace: bool) -> nn.Module:
    """A first layer whose output is written into before it is pooled."""
    layers = [nn.Conv2d(1, 2, 2), nn.ReLU(inplace), nn.MaxPool2d(2), nn.Conv2d(2, 3, 2), nn.ReLU(inplace), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(3, 3))


def rectified_vectors(inplace: bool) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(25, 4), nn.ReLU(inplace), nn.Linear(4, 3))


@pytest.mark.parametrize("build", [rectified, rectified_vectors])
def test_activations_in_place_change_nothing(build):
    found, expected = (fit(averaged_by(partial(build, inplace)), "kfac", "ggn") for inplace in (True, False))
    for name, block in expected.blocks.items():
        torch.testing.assert_close(found.blocks[name].inputs, block.inputs, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(found.blocks[name].outputs, block.outputs, rtol=1e-12, atol=1e-12)
    gradients = []
    for laplace in (found, expected):
        eta = laplace.model.distribution.eta
        gradients += laplace.hyperparameter_gradient(batches(laplace.model), [eta])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-10, atol=1e-10)


def test_a_linear_model_is_exact_where_the_paper_says_so():
    """Linear regression: Lambda is the same for all points, so Kronecker factors of all data are the GGN itself."""
    averaged = averaged_by(linear)
    copies, _ = all_copies(averaged)
    likelihood = Regression(0.7)
    targets = torch.sin(torch.arange(15, dtype=torch.float64)).reshape(5, 3)
    found = estimate(averaged, likelihood, [(copies, targets)], exclude=["distribution"]).blocks
    for name, block in found.items():
        expected = ggn_block(averaged, copies, name, likelihood)
        torch.testing.assert_close(block.dense(), expected, rtol=1e-10, atol=1e-10)


def test_a_linear_classifier_is_exact_for_one_point_only():
    """Eq. 14 is exact for linear models, Eq. 7 is not: Lambda differs from point to point."""
    averaged = averaged_by(linear)
    for count, exact in ((1, True), (5, False)):
        copies, targets = all_copies(averaged, count)
        block = estimate(averaged, Classification(), [(copies, targets)], exclude=["distribution"]).blocks[
            "network.1.weight"
        ]
        expected = ggn_block(averaged, copies, "network.1.weight", Classification())
        assert torch.allclose(block.dense(), expected, rtol=1e-10, atol=1e-10) == exact


def fit(averaged: AveragedNetwork, structure: str, kind: str, prior: str = "scalar", count: int = 5) -> Laplace:
    precisions = GaussianPrior(weights_of(averaged), prior, 0.8)
    shown = ((copies.detach(), targets) for copies, targets in batches(averaged, count))
    return Laplace.fit(averaged, Classification(), shown, structure, kind, precisions, exclude=["distribution"])


@pytest.mark.parametrize("build", [perceptron, convolutional, pooling_first])
@pytest.mark.parametrize("structure", ["kfac", "diagonal", "full"])
@pytest.mark.parametrize("kind", ["ggn", "empirical"])
def test_the_gradient_of_the_whole_objective_in_eta(build, structure, kind):
    averaged = averaged_by(build)
    laplace = fit(averaged, structure, kind)
    found = laplace.hyperparameter_gradient(batches(averaged), [averaged.distribution.eta])[0]

    def value(eta: Tensor) -> Tensor:
        with torch.no_grad():
            averaged.distribution.eta.copy_(eta)
        return fit(averaged, structure, kind).log_marginal_likelihood().detach()

    expected = finite_difference(value, averaged.distribution.values(), step=1e-6)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_the_circle():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    averaged = AveragedNetwork(network, RotationDistribution(0.6), SAMPLES)
    points, targets = torch.randn(7, 2, dtype=torch.float64), torch.arange(7) % 2

    def shown() -> list[tuple[Tensor, Tensor]]:
        return [(averaged.copies(points, torch.Generator().manual_seed(0)), targets)]

    def value(eta: Tensor) -> Tensor:
        with torch.no_grad():
            averaged.distribution.eta.copy_(eta)
        return fitted().log_marginal_likelihood().detach()

    def fitted() -> Laplace:
        return Laplace.fit(averaged, Classification(), shown(), "full", exclude=["distribution"])

    found = fitted().hyperparameter_gradient(shown(), [averaged.distribution.eta])[0]
    torch.testing.assert_close(found, finite_difference(value, averaged.distribution.values()), rtol=1e-6, atol=1e-6)


class Ledger:
    """Bytes of the tensors that autograd graphs hold, and the most they ever were."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def pack(self, tensor: Tensor) -> "Held":
        return Held(self, tensor)

    def measure(self, call) -> int:
        with torch.autograd.graph.saved_tensors_hooks(self.pack, lambda held: held.tensor):
            call()
        return self.most


class Held:
    def __init__(self, ledger: Ledger, tensor: Tensor):
        self.ledger, self.tensor = ledger, tensor
        ledger.now += tensor.nbytes
        ledger.most = max(ledger.most, ledger.now)

    def __del__(self) -> None:
        self.ledger.now -= self.tensor.nbytes


@pytest.mark.parametrize("build", [perceptron, convolutional])
def test_what_graphs_hold_is_set_by_the_batch_and_not_by_the_data(build):
    def peak(count: int) -> int:
        averaged = averaged_by(build)
        laplace = fit(averaged, "kfac", "ggn", count=count)
        laplace.fit_options["memory_budget"] = 1  # chunks of one data point
        inputs, targets = data(count)
        parts = zip(inputs.split(2), targets.split(2), strict=True)
        # The same draws for every batch: the exponential of larger ones takes more steps.
        shown = ((averaged.copies(some, torch.Generator().manual_seed(0)), labels) for some, labels in parts)
        return Ledger().measure(lambda: laplace.hyperparameter_gradient(shown, [averaged.distribution.eta]))

    assert 0 < peak(40) <= peak(4)
