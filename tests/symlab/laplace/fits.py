"""Small finished fits, made of curvature written out in ``cases``."""

import torch

from symlab.kfac.likelihoods import Classification, Regression
from symlab.laplace import GaussianPrior, Laplace
from tests.symlab.laplace.cases import full_block, kfac_blocks, small_network

GENERATOR = torch.Generator().manual_seed(3)
INPUTS = torch.randn(9, 2, generator=GENERATOR, dtype=torch.float64)
TARGETS = torch.randn(9, 3, generator=GENERATOR, dtype=torch.float64)


def classifier(structure: str = "layer", joint: bool = True) -> Laplace:
    model, likelihood = small_network(), Classification()
    value = likelihood.log_likelihood(model(INPUTS), torch.arange(9) % 3).item()
    return Laplace(
        model, likelihood, kfac_blocks(model, likelihood, INPUTS, joint), value, 9, GaussianPrior(model, structure)
    )


def regressor(n_outputs: int | None = 3) -> Laplace:
    model, likelihood = small_network(), Regression(noise=0.5)
    value = likelihood.log_likelihood(model(INPUTS), TARGETS).item()
    return Laplace(model, likelihood, full_block(model, likelihood, INPUTS), value, 9, n_outputs=n_outputs)
