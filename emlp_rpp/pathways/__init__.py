"""Residual pathway priors (thesis, chapter 3): constrained layers as soft priors.

>>> from emlp_rpp.groups import O
>>> from emlp_rpp.representations import T, V
>>> prior = PathwayPrior(equivariant_variance=1e5, residual_variance=1.0)
>>> network = PathwayEMLP((5 * V)(O(3)), T(2)(O(3)), channels=384, layers=3, prior=prior)   # (batch, 15) -> (batch, 9)
>>> loss = loss + negative_log_prior(network)
"""

from emlp_rpp.pathways.convnet import PathwayConvNet, pathway_convolution
from emlp_rpp.pathways.convolution import Convolution
from emlp_rpp.pathways.dense import Dense
from emlp_rpp.pathways.emlp import PathwayBlock, PathwayEMLP
from emlp_rpp.pathways.group_convolution import GroupConvolution
from emlp_rpp.pathways.learner import PathwayTraining
from emlp_rpp.pathways.linear import PathwayLinear
from emlp_rpp.pathways.measures import equivariance_errors, equivariant_shares
from emlp_rpp.pathways.optimisation import adam, parameter_groups
from emlp_rpp.pathways.prior import PathwayPrior, has_prior, negative_log_prior
from emlp_rpp.pathways.residual import ResidualPathway

__all__ = [
    "Convolution",
    "Dense",
    "GroupConvolution",
    "PathwayBlock",
    "PathwayConvNet",
    "PathwayEMLP",
    "PathwayLinear",
    "PathwayPrior",
    "PathwayTraining",
    "ResidualPathway",
    "adam",
    "equivariance_errors",
    "equivariant_shares",
    "has_prior",
    "negative_log_prior",
    "parameter_groups",
    "pathway_convolution",
]
