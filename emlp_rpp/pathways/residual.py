"""The wrapper that makes a soft prior of a constrained layer: y = A x + a + B x + b   (thesis, Eq. 3.1 and 3.2).

``equivariant`` and ``residual`` are weight spaces between the same features, the second one larger: all dense weights, or
the weights that are equivariant under a subgroup (then P spans what the subgroup allows and the group does not).
"""

import torch
from torch import Tensor, nn

from emlp_rpp.pathways.prior import PathwayPrior
from emlp_rpp.pathways.weight_space import WeightSpace, project
from symlab.errors import ConfigError

RESIDUAL_START = 1e-3  # what B starts as, in units of its usual start: at first the layer is all but constrained


class ResidualPathway(nn.Module):
    """Either path may be missing, where its variance is 0. B starts small beside A, and as usual where it is alone."""

    def __init__(self, equivariant: nn.Module | None, residual: nn.Module | None, prior: PathwayPrior):
        super().__init__()
        for path, expected, name in (
            (equivariant, prior.has_equivariant, "equivariant"),
            (residual, prior.has_residual, "residual"),
        ):
            if (path is not None) != expected:
                raise ConfigError(f"the {name} path is there if its variance is positive and only then: {prior}")
            if path is not None and not isinstance(path, WeightSpace):
                raise ConfigError(f"{type(path).__name__} is no weight space: it needs dense() and multiplicities()")
        self.equivariant, self.residual, self.prior = equivariant, residual, prior
        self._multiplicities: dict[str, list[Tensor]] = {}
        if equivariant is not None and residual is not None:
            with torch.no_grad():
                for parameter in residual.parameters():
                    parameter.mul_(RESIDUAL_START)

    @property
    def paths(self) -> dict[str, nn.Module]:
        found = {"equivariant": self.equivariant, "residual": self.residual}
        return {name: path for name, path in found.items() if path is not None}

    def forward(self, x: Tensor) -> Tensor:
        first, *others = (path(x) for path in self.paths.values())
        return first + others[0] if others else first

    def squared_norm(self, name: str) -> Tensor:
        """|A|^2 or |B|^2, biases included, as dense matrices."""
        path = self.paths[name]
        if name not in self._multiplicities:
            known = path.multiplicities()  # type: ignore[operator]
            self._multiplicities[name] = [known[each].detach() for each, _ in path.named_parameters()]
        parameters = list(path.parameters())
        terms = [(m.to(p) * p.square()).sum() for m, p in zip(self._multiplicities[name], parameters)]
        return torch.stack(terms).sum()

    def negative_log_prior(self) -> Tensor:
        """|A|^2 / (2 sigma_a^2) + |B|^2 / (2 sigma_b^2)."""
        variances = {"equivariant": self.prior.equivariant_variance, "residual": self.prior.residual_variance}
        return torch.stack([self.squared_norm(name) / (2 * variances[name]) for name in self.paths]).sum()

    def learning_rate_factors(self) -> dict[str, float]:
        """Read by ``symlab.trainer.descent``: B beside A has a rate of its own."""
        if self.equivariant is None or self.residual is None:
            return {}
        return {f"residual.{name}": self.prior.residual_rate for name, _ in self.residual.named_parameters()}

    @torch.no_grad()
    def dense(self) -> tuple[Tensor, Tensor]:
        """A + B and a + b."""
        parts = [path.dense() for path in self.paths.values()]  # type: ignore[operator]
        return torch.stack([weight for weight, _ in parts]).sum(0), torch.stack([bias for _, bias in parts]).sum(0)

    def equivariant_share(self) -> float:
        """|Q Q^T W|^2 / |W|^2 of W = A + B, biases included: 1 where the layer is equivariant."""
        if self.equivariant is None:
            raise ConfigError("a layer without an equivariant path has no share of it: its equivariant variance is 0")
        weight, bias = self.dense()
        total = float(weight.square().sum() + bias.square().sum())
        inside = project(self.equivariant, weight, bias)
        return float(inside[0].square().sum() + inside[1].square().sum()) / total if total else 1.0
