"""Linear maps between feature maps (B, c, x, x) -> (B, c', x', x'), from unconstrained to strictly equivariant.

Every layer is built from the same four sizes: channels and spatial extent in and out.
"""

from ella.layers.convolution import Convolution
from ella.layers.fully_connected import FullyConnected

__all__ = ["Convolution", "FullyConnected"]
