"""Kronecker-factored, diagonal and full Gauss-Newton curvature of any network, fast and differentiable."""

from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.estimation import Curvature, estimate
from symlab.kfac.likelihoods import Classification, Likelihood, Regression
from symlab.kfac.rules import BlockRule, ExactBlock, RuleOptions

__all__ = [
    "BlockRule",
    "Classification",
    "Curvature",
    "ExactBlock",
    "KroneckerBlock",
    "Likelihood",
    "Regression",
    "RuleOptions",
    "estimate",
]
