"""Equivariant networks (thesis, section 2.6): linear, bilinear and gated layers, the EMLP, and the MLP it is compared with.

>>> from emlp_rpp.groups import O
>>> from emlp_rpp.representations import Scalar, V
>>> network = EMLP((2 * V)(O(5)), Scalar(O(5)), channels=384, layers=3)   # (batch, 10) -> (batch, 1)
"""

from emlp_rpp.networks.allocation import uniform_allocation
from emlp_rpp.networks.augmentation import RandomElements, transform_batch
from emlp_rpp.networks.bilinear import Bilinear
from emlp_rpp.networks.emlp import EMLP, EquivariantBlock
from emlp_rpp.networks.equivariant_matrix import EquivariantMatrix
from emlp_rpp.networks.gated import Gated, with_gates
from emlp_rpp.networks.linear import EquivariantLinear
from emlp_rpp.networks.perceptron import MLP

__all__ = [
    "EMLP",
    "MLP",
    "Bilinear",
    "EquivariantBlock",
    "EquivariantLinear",
    "EquivariantMatrix",
    "Gated",
    "RandomElements",
    "transform_batch",
    "uniform_allocation",
    "with_gates",
]
