"""The baseline without symmetry: linear layers with swish between them, (..., n_in) -> (..., n_out)."""

from itertools import pairwise

from torch import Tensor, nn

from emlp_rpp.errors import InputSizeError
from symlab.errors import ConfigError


class MLP(nn.Module):
    """``layers`` hidden layers of ``channels`` units and a linear one to the output."""

    def __init__(self, n_in: int, n_out: int, channels: int = 384, layers: int = 3):
        super().__init__()
        if min(n_in, n_out, channels) < 1 or layers < 0:
            raise ConfigError(f"MLP({n_in}, {n_out}, {channels}, {layers}) does not fit: sizes from 1 on, layers from 0 on")
        self.n_in = n_in
        widths = [n_in, *[channels] * layers]
        hidden = [module for a, b in pairwise(widths) for module in (nn.Linear(a, b), nn.SiLU())]
        self.net = nn.Sequential(*hidden, nn.Linear(widths[-1], n_out))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 0 or x.shape[-1] != self.n_in:
            raise InputSizeError(f"an input of shape {tuple(x.shape)} does not fit: (..., {self.n_in}) is needed")
        return self.net(x)
