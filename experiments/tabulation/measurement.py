"""One cell's number from the metrics of its runs: mean over seeds, sample standard deviation, and what is not there."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.tabulation.table import Cell

State = Literal["measured", "missing", "failed", "running", "partial"]


@dataclass(frozen=True)
class Measurement:
    """A cell's content. ``value`` and ``spread`` are scaled as shown; ``seeds`` counts the runs behind ``value``."""

    value: float | None
    spread: float | None
    seeds: int
    state: State
    reason: str = ""

    @classmethod
    def missing(cls, reason: str) -> "Measurement":
        return cls(None, None, 0, "missing", reason)

    @classmethod
    def failed(cls, reason: str) -> "Measurement":
        return cls(None, None, 0, "failed", reason)

    @classmethod
    def running(cls, reason: str = "its runs are not finished") -> "Measurement":
        return cls(None, None, 0, "running", reason)


def aggregate(cell: Cell, metrics_per_seed: Sequence[Mapping[str, float] | None], reason: str = "") -> Measurement:
    """Combine the metrics of a cell's runs, one entry per seed of ``cell.seeds`` and None where there is no record.

    Args:
        cell: the cell, which says the metric and its scale.
        metrics_per_seed: the final metrics of each seed's run record.
        reason: why records are absent, shown with a missing or partial cell.

    Returns:
        The mean over the seeds that exist, and their sample standard deviation if there is more than one.
    """
    if cell.missing is not None:
        return Measurement.missing(cell.missing)
    if len(metrics_per_seed) != len(cell.seeds):
        raise ValueError(f"cell {cell.place} has {len(cell.seeds)} seeds but got {len(metrics_per_seed)} records")
    values: list[float] = []
    for seed, metrics in zip(cell.seeds, metrics_per_seed, strict=True):
        if metrics is None:
            continue
        if cell.metric.key not in metrics:
            known = ", ".join(sorted(metrics)) or "nothing"
            return Measurement.failed(f"the record of seed {seed} has no {cell.metric.key!r}; it has {known}")
        value = metrics[cell.metric.key]
        if not math.isfinite(value):
            return Measurement.failed(f"{cell.metric.key!r} of seed {seed} is {value}")
        values.append(value * cell.metric.scale)
    if not values:
        return Measurement.missing(reason or "it has not been run")
    spread = statistics.stdev(values) if len(values) > 1 else None
    if len(values) == len(cell.seeds):
        return Measurement(statistics.fmean(values), spread, len(values), "measured")
    absent = f"{len(values)} of {len(cell.seeds)} seeds" + (f"; {reason}" if reason else "")
    return Measurement(statistics.fmean(values), spread, len(values), "partial", absent)
