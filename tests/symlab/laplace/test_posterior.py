import pytest
import torch
from torch import nn

from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Classification
from symlab.laplace.posterior import Posterior, evaluating
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

INPUTS = torch.randn(7, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def blocks_of(model: nn.Sequential, curvature: str):
    likelihood = Classification()
    return {
        "joint": lambda: kfac_blocks(model, likelihood, INPUTS, joint=True),
        "apart": lambda: kfac_blocks(model, likelihood, INPUTS, joint=False),
        "diagonal": lambda: diagonal_blocks(model, likelihood, INPUTS),
        "full": lambda: full_block(model, likelihood, INPUTS),
    }[curvature]()


def make(model: nn.Sequential, curvature: str = "joint", structure: str = "layer", **options):
    """A posterior and its dense covariance."""
    blocks = blocks_of(model, curvature)
    prior = GaussianPrior(model, structure)
    with torch.no_grad():
        prior.log_precision.copy_(torch.linspace(-1, 1, len(prior.log_precision)))
    parameters = dict(model.named_parameters())
    posterior = Posterior(model, [Spectrum(block) for block in blocks.values()], prior, parameters, **options)
    delta = torch.cat([prior.precision_of_parameter(n).expand(v.shape).reshape(-1) for n, v in parameters.items()]).detach()
    scale = options.get("curvature_scale", 1.0)
    return posterior, torch.linalg.inv(scale * dense_curvature(model, blocks) + delta.diag())


@pytest.mark.parametrize("structure", ["scalar", "tensor", "unit"])
@pytest.mark.parametrize("curvature", ["joint", "apart", "diagonal", "full"])
def test_functional_covariance_is_that_of_dense_matrices(curvature, structure) -> None:
    model = small_network()
    posterior, covariance = make(model, curvature, structure, curvature_scale=0.6)
    mean, have = posterior.functional_covariance(INPUTS)
    jacobian = dense_jacobian(model, INPUTS)
    torch.testing.assert_close(have, jacobian @ covariance @ jacobian.mT, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(mean, model(INPUTS).detach(), rtol=1e-12, atol=1e-12)


def test_chunks_do_not_change_the_answer() -> None:
    whole, _ = make(small_network())
    chunked, _ = make(small_network(), memory=2 * 3 * 27)
    assert [len(chunk) for chunk in chunked._chunks(INPUTS)] == [2, 2, 2, 1]
    for have, want in zip(chunked.functional_covariance(INPUTS), whole.functional_covariance(INPUTS), strict=True):
        torch.testing.assert_close(have, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("curvature", ["joint", "diagonal", "full"])
def test_samples_have_the_covariance_of_the_posterior(curvature) -> None:
    model = small_network()
    posterior, covariance = make(model, curvature)
    draws = posterior.sample(20_000, torch.Generator().manual_seed(0))
    assert list(draws) == [name for name, _ in model.named_parameters()]
    flat = torch.cat([draws[name].flatten(1) for name in draws], 1)
    centre = nn.utils.parameters_to_vector(model.parameters()).detach()
    scale = covariance.diagonal().rsqrt()
    torch.testing.assert_close((flat.mean(0) - centre) * scale, torch.zeros(27, dtype=torch.float64), rtol=0, atol=0.04)
    torch.testing.assert_close(
        scale[:, None] * (flat.T.cov() - covariance) * scale, torch.zeros_like(covariance), rtol=0, atol=0.05
    )


def test_a_convolution_in_float32_in_training_mode() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(32, 3)
    )
    inputs = torch.randn(5, 1, 4, 4)
    blocks = diagonal_blocks(model.eval(), Classification(), inputs)
    posterior = Posterior(
        model.train(), [Spectrum(b) for b in blocks.values()], GaussianPrior(model), dict(model.named_parameters())
    )
    mean, covariance = posterior.functional_covariance(inputs)
    assert mean.dtype == covariance.dtype == torch.float64
    assert covariance.shape == (5, 3, 3)
    assert all(module.training for module in model.modules())
    assert posterior.sample()["0.weight"].dtype == torch.float32


def test_the_posterior_stays_when_the_model_moves() -> None:
    model = small_network()
    posterior, _ = make(model)
    before = posterior.functional_covariance(INPUTS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    for have, want in zip(posterior.functional_covariance(INPUTS), before, strict=True):
        assert torch.equal(have, want)


def test_each_module_gets_its_mode_back() -> None:
    model = small_network()
    model[0].eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, False, True, True]


def test_inputs_and_outputs_that_cannot_be_predicted_are_refused() -> None:
    posterior, _ = make(small_network())
    with pytest.raises(ConfigError, match="no inputs"):
        posterior.functional_covariance(INPUTS[:0])
    with pytest.raises(ConfigError, match=r"outputs are \(1, 5, 3\): prediction needs \(N, C\)"):
        posterior.functional_covariance(torch.zeros(2, 5, 2, dtype=torch.float64))
