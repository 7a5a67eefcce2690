"""End to end: the Laplace marginal likelihood of a network of each type, and its gradient in every prior precision."""

from functools import partial

import pytest
import torch

from ella.layers import (
    Convolution,
    DepthwiseSeparableGroupConvolution,
    FactoredFullyConnected,
    FullyConnected,
    GroupConvolution,
    PointwiseGroupConvolution,
    ResidualPathways,
    SeparableGroupConvolution,
    SparseConvolution,
    SparseFullyConnected,
)
from ella.network import Network, RotationNetwork
from symlab.kfac import Classification
from symlab.laplace import GaussianPrior, Laplace
from tests.oracles import finite_difference


def pathways(**paths):
    return partial(ResidualPathways, paths=paths)


OMEGA_FC, OMEGA_CONV = partial(SparseFullyConnected, prior="omega"), partial(SparseConvolution, prior="omega")
GCONV = {"gconv": PointwiseGroupConvolution}
NETWORKS = {
    "FC": (Network, FullyConnected),
    "CONV": (Network, Convolution),
    "FC+CONV": (Network, pathways(fc=FullyConnected, conv=Convolution)),
    "F-FC": (Network, FactoredFullyConnected),
    "F-FC+CONV": (Network, pathways(f_fc=FactoredFullyConnected, conv=Convolution)),
    "S-FC u": (Network, SparseFullyConnected),
    "S-CONV u": (Network, SparseConvolution),
    "S-CONV theta": (Network, partial(SparseConvolution, prior="theta")),
    "S-FC+S-CONV u": (Network, pathways(s_fc=SparseFullyConnected, s_conv=SparseConvolution)),
    "S-FC omega": (Network, OMEGA_FC),
    "S-CONV omega": (Network, OMEGA_CONV),
    "S-FC+S-CONV omega": (Network, pathways(s_fc=OMEGA_FC, s_conv=OMEGA_CONV)),
    "GCONV": (RotationNetwork, PointwiseGroupConvolution),
    "GCONV full": (RotationNetwork, GroupConvolution),
    "GCONV separable": (RotationNetwork, SeparableGroupConvolution),
    "GCONV depthwise separable": (RotationNetwork, DepthwiseSeparableGroupConvolution),
    "F-FC+CONV+GCONV": (RotationNetwork, pathways(f_fc=FactoredFullyConnected, conv=Convolution, **GCONV)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_gradient_in_every_prior_precision(name):
    torch.manual_seed(0)
    build, layer = NETWORKS[name]
    model = build((1, 8, 8), 3, layer, alpha=1).double()
    inputs, targets = torch.randn(6, 1, 8, 8, dtype=torch.float64), torch.arange(6) % 3
    locations = [parameter for parameter, _ in model.named_parameters() if parameter.endswith("locations")]
    weights = {parameter: tensor for parameter, tensor in model.named_parameters() if parameter not in locations}
    prior = GaussianPrior(weights, structure="tensor")
    laplace = Laplace.fit(model, Classification(), [(inputs, targets)], prior=prior, exclude=locations)
    assert len(prior.log_precision) == len(weights)
    with torch.no_grad():
        prior.log_precision.copy_(torch.linspace(-2, 2, len(weights), dtype=torch.float64))
    (gradient,) = torch.autograd.grad(laplace.log_marginal_likelihood(), prior.log_precision)
    start = prior.log_precision.detach().clone()
    eigenvalues = {block.names: eigenvalues_of(block) for block in laplace.blocks.values()}

    def value(log_precision):
        """Written out: no spectrum, no closed form of the derivative."""
        total = torch.tensor(laplace.log_likelihood, dtype=torch.float64)
        delta = {parameter: log_precision[index].exp() for index, parameter in enumerate(weights)}
        for block in laplace.blocks.values():
            (parameter,) = block.names
            theta, precision = weights[parameter].detach().flatten(), delta[parameter]
            total += 0.5 * (len(theta) * precision.log() - precision * theta.square().sum())
            total -= 0.5 * (eigenvalues[block.names] + precision).log().sum()
        return total

    torch.testing.assert_close(laplace.log_marginal_likelihood().detach(), value(start), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(gradient, finite_difference(value, start), rtol=1e-5, atol=1e-6)


def eigenvalues_of(block):
    """Of H: all products of the eigenvalues of both factors, block by block where they are block-diagonal."""
    products = []
    for inputs, outputs in zip(block.inputs, block.outputs, strict=True):
        left = torch.cat([torch.linalg.eigvalsh(matrix) for matrix in inputs])
        right = torch.cat([torch.linalg.eigvalsh(matrix) for matrix in outputs])
        products.append((right[:, None] * left[None, :] / block.rows).clamp(min=0).flatten())
    return torch.cat(products)


@pytest.mark.parametrize("name", ["S-FC+S-CONV u", "S-CONV omega"])
def test_gradient_in_anchor_locations(name):
    """Locations may also be learnt by the marginal likelihood: the rules are differentiable in them."""
    torch.manual_seed(0)
    build, layer = NETWORKS[name]
    model = build((1, 8, 8), 3, layer, alpha=1).double()
    batches = [(torch.randn(4, 1, 8, 8, dtype=torch.float64), torch.arange(4) % 3)]
    locations = [parameter for parameter, _ in model.named_parameters() if parameter.endswith("locations")]

    def fitted():
        weights = {parameter: tensor for parameter, tensor in model.named_parameters() if parameter not in locations}
        prior = GaussianPrior(weights, structure="tensor")
        return Laplace.fit(model, Classification(), batches, prior=prior, exclude=locations)

    chosen = model.get_parameter(locations[0])
    (gradient,) = fitted().hyperparameter_gradient(batches, [chosen])
    step = 1e-5
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            chosen[0, 0] += sign * step
        values.append(fitted().log_marginal_likelihood().item())
        with torch.no_grad():
            chosen[0, 0] -= sign * step
    assert abs(gradient[0, 0].item() - (values[0] - values[1]) / (2 * step)) < 1e-4 * max(1.0, abs(gradient[0, 0].item()))
