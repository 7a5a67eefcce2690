"""Which layers a network has learned, ELLA App. D: from what a fit says of each tensor to layers and their paths.

With gamma_p the effective number of parameters of path p of a layer and P_p its size,

    normalised effective number of parameters    gamma_p / P_p
    relative effective number of parameters      (gamma_p / P_p) / sum_q gamma_q / P_q
    effective layer type                         the path with the largest relative number

Only tensors named ``weight`` count, biases and frequencies do not. A path of several weights (the two factors of F-FC) has
the mean over them in every quantity. Layers are counted from 0, in the order of the network's blocks; paths are named as in
``ResidualPathways``.

# Paper: the weight norm of Table 4 is headed by a squared norm; its values are mean squares, |theta|^2 / P, as here.
"""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from symlab.laplace.summary import TensorSummary

ONLY_PATH = "layer"  # the path of a block that has no residual pathways
_WEIGHT = re.compile(r"blocks\.(?P<block>\d+)\.(?:paths\.(?P<path>[^.]+)\.)?(?:.+\.)?weight")


@dataclass(frozen=True)
class PathReport:
    """One path of one layer: a half of a line of Table 4."""

    layer: int
    path: str
    prior_precision: float
    weight_norm: float
    normalised_effective_parameters: float
    relative_effective_parameters: float

    @property
    def prior_variance(self) -> float:
        return 1 / self.prior_precision


QUANTITIES = ("prior_precision", "weight_norm", "normalised_effective_parameters", "relative_effective_parameters")


def inspect_layers(tensors: Mapping[str, TensorSummary]) -> list[PathReport]:
    """Layer by layer, the paths of a layer in the network's order; ``tensors`` by parameter name."""
    blocks: dict[int, dict[str, list[TensorSummary]]] = {}
    for name, tensor in tensors.items():
        found = _WEIGHT.fullmatch(name)
        if found is not None:
            paths = blocks.setdefault(int(found["block"]), {})
            paths.setdefault(found["path"] or ONLY_PATH, []).append(tensor)
    reports = []
    for layer, block in enumerate(sorted(blocks)):
        means = {path: _mean(weights) for path, weights in blocks[block].items()}
        total = sum(mean.normalised_effective_parameters for mean in means.values())
        for path, mean in means.items():
            own = mean.normalised_effective_parameters
            # Where data decide no parameter of any path, none is ahead.
            relative = own / total if total > 0 else 1 / len(means)
            reports.append(PathReport(layer, path, mean.prior_precision, mean.mean_square, own, relative))
    return reports


def _mean(weights: Sequence[TensorSummary]) -> TensorSummary:
    names = [field.name for field in fields(TensorSummary)]
    return TensorSummary(**{name: statistics.fmean(getattr(weight, name) for weight in weights) for name in names})


def effective_types(reports: Sequence[PathReport]) -> list[str]:
    """The path of each layer that has the largest relative effective number of parameters."""
    ahead: dict[int, PathReport] = {}
    for report in reports:
        best = ahead.get(report.layer)
        if best is None or report.relative_effective_parameters > best.relative_effective_parameters:
            ahead[report.layer] = report
    return [ahead[layer].path for layer in sorted(ahead)]


def layer_metrics(reports: Sequence[PathReport]) -> dict[str, float]:
    """As metrics of a run: <quantity>/layer<i>/<path>, the effective layer type as the number of its path, and the mean,
    least and largest relative number of each path over layers (Table 3)."""
    metrics = {f"{quantity}/layer{r.layer}/{r.path}": getattr(r, quantity) for r in reports for quantity in QUANTITIES}
    paths = list(dict.fromkeys(report.path for report in reports))
    for layer, path in enumerate(effective_types(reports)):
        metrics[f"effective_layer_type/layer{layer}"] = float(paths.index(path))
    for path in paths:
        values = [report.relative_effective_parameters for report in reports if report.path == path]
        for name, statistic in (("mean", statistics.fmean), ("min", min), ("max", max)):
            metrics[f"relative_effective_parameters/{path}/{name}"] = statistic(values)
    return metrics


def logged_tensors(metrics: Mapping[str, float]) -> dict[str, TensorSummary]:
    """What a logged line says of each weight, by parameter name; empty for an epoch without a fit."""
    quantities = [field.name for field in fields(TensorSummary)]
    first = f"{quantities[0]}/"
    names = [key.removeprefix(first) for key in metrics if key.startswith(first)]
    weights = [name for name in names if _WEIGHT.fullmatch(name)]
    return {name: TensorSummary(*(metrics[f"{quantity}/{name}"] for quantity in quantities)) for name in weights}
