"""Networks without a symmetry of their own, used by several methods."""

from symlab.models.mlp import MLP

__all__ = ["MLP"]
