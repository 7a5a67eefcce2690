"""Residual pathways: the mean of several linear maps, from unconstrained to strictly equivariant, ELLA Eqs. 4, 10 and 11.

    y = 1/P sum_{p = 1..P} f_p(x),      (x + y) / 2 for two paths, / 3 for three

Every path has parameters, curvature and prior precisions of its own, by its name: ``paths.fc.linear.weight``,
``paths.conv.convolution.bias``. Where the prior variance of the non-equivariant paths goes to zero, the equivariant ones
remain (Eq. 8). Equivariant paths are added before they are pooled, once (see ``subsampled``); the others are added after,
for they write to the final resolution.

The weights of each path start sqrt(P) times as large as in a layer of its own, so that the mean of P independent paths has
the variance of one. With ``free_share`` f the paths that are not equivariant have f of that variance together, the others
1 - f: the smaller it is, the closer to strict equivariance a network starts. Steps of Adam are as long for small weights as
for large ones, so that noise alone would soon make them large; with ``free_rate`` r the paths that are not
equivariant learn at r times the learning rate, and grow where the data pull them the same way for many steps.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from torch import Tensor, nn

from ella.layers.subsampled import Subsampled
from ella.pooling import PolyphasePool
from symlab.errors import ConfigError


class ResidualPathways(nn.Module):
    """(B, c, extent_in, extent_in) -> (B, c', extent_out, extent_out).

    ``paths``: a name and a builder ``(channels_in, channels_out, extent_in, extent_out) -> layer`` for each.
    ``free_share``: None gives every path the same; ``free_rate`` 1 the same learning rate.
    """

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        extent_in: int,
        extent_out: int,
        paths: Mapping[str, Callable[..., nn.Module]],
        free_share: float | None = None,
        free_rate: float = 1.0,
    ):
        super().__init__()
        if free_rate <= 0:
            raise ConfigError(f"free_rate={free_rate} does not fit: it is a positive factor of the learning rate")
        if len(paths) < 2:
            raise ConfigError(f"paths={list(paths)} does not fit: residual pathways add up at least two layers")
        self.free_rate = free_rate
        self.paths = nn.ModuleDict()
        self.pool = nn.Identity() if extent_out == extent_in else PolyphasePool()
        for name, build in paths.items():
            path = build(channels_in, channels_out, extent_in, extent_out)
            if not hasattr(path, "rescale"):
                raise ConfigError(f"paths.{name}: {type(path).__name__} is no layer of ella.layers (it has no rescale)")
            self.paths[name] = path
        for path, share in zip(self.paths.values(), self._shares(free_share), strict=True):
            cast(Any, path).rescale(len(paths) * share**0.5)

    def _shares(self, free_share: float | None) -> list[float]:
        """Of the variance of the mean, for each path."""
        equivariant = [isinstance(path, Subsampled) for path in self.paths.values()]
        if free_share is None:
            return [1 / len(equivariant)] * len(equivariant)
        if not 0 < free_share < 1 or len(set(equivariant)) == 1:
            raise ConfigError(
                f"free_share={free_share} does not fit paths={list(self.paths)}: it is a number between 0 and 1, for "
                "paths of which some are equivariant and some are not; null gives all of them the same share"
            )
        strict = sum(equivariant)
        return [(1 - free_share) / strict if each else free_share / (len(equivariant) - strict) for each in equivariant]

    def learning_rate_factors(self) -> dict[str, float]:
        """For ``symlab.trainer.descent``."""
        if self.free_rate == 1:
            return {}
        free = {f"paths.{name}." for name, path in self.paths.items() if not isinstance(path, Subsampled)}
        return {name: self.free_rate for name, _ in self.named_parameters() if any(map(name.startswith, free))}

    def forward(self, features: Tensor) -> Tensor:
        direct: Tensor | None = None
        equivariant: Tensor | None = None
        for path in self.paths.values():
            if isinstance(path, Subsampled):
                convolved = path.convolve(features)
                equivariant = convolved if equivariant is None else equivariant + convolved
            else:
                written = path(features)
                direct = written if direct is None else direct + written
        if equivariant is None:
            assert direct is not None
            return direct / len(self.paths)
        pooled = self.pool(equivariant)
        return (pooled if direct is None else pooled + direct) / len(self.paths)
