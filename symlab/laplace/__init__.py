"""Laplace approximation from curvature blocks: marginal likelihood, prior precisions, posterior and prediction."""

from symlab.laplace.laplace import Laplace
from symlab.laplace.marginal_likelihood import DataFit, GaussianDataFit, LogMarginalLikelihood, optimise_prior
from symlab.laplace.posterior import Posterior
from symlab.laplace.predictive import GaussianPrediction
from symlab.laplace.prior import GaussianPrior
from symlab.laplace.spectrum import Spectrum

__all__ = [
    "DataFit",
    "GaussianDataFit",
    "GaussianPrediction",
    "GaussianPrior",
    "Laplace",
    "LogMarginalLikelihood",
    "Posterior",
    "Spectrum",
    "optimise_prior",
]
