"""Linear maps between feature maps (B, c, x, x) -> (B, c', x', x'), from unconstrained to strictly equivariant.

Every layer is built from the same four sizes: channels and spatial extent in and out. ``rescale`` multiplies its map by a
factor.
"""

from ella.layers.convolution import Convolution
from ella.layers.factored_fully_connected import FactoredFullyConnected
from ella.layers.fully_connected import FullyConnected
from ella.layers.group_convolution import (
    DepthwiseSeparableGroupConvolution,
    GroupConvolution,
    PointwiseGroupConvolution,
    SeparableGroupConvolution,
)
from ella.layers.residual_pathways import ResidualPathways
from ella.layers.sparse_convolution import SparseConvolution
from ella.layers.sparse_fully_connected import SparseFullyConnected

__all__ = [
    "Convolution",
    "DepthwiseSeparableGroupConvolution",
    "FactoredFullyConnected",
    "FullyConnected",
    "GroupConvolution",
    "PointwiseGroupConvolution",
    "ResidualPathways",
    "SeparableGroupConvolution",
    "SparseConvolution",
    "SparseFullyConnected",
]
