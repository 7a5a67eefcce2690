"""The table in which every benchmark reports: ``results/bench/<name>.csv`` and the same on the terminal.

Columns: work, ours, peer, peer_name, unit, ratio, goal, holds. The ratio is always "larger is better": peer / ours for costs
(seconds, bytes), ours / peer for rates (a unit that ends in "/s"). ``holds`` says whether ratio >= goal. A peer that could
not be measured keeps its line: its cells are empty and ``peer_name`` carries the reason.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("work", "ours", "peer", "peer_name", "unit", "ratio", "goal", "holds")
RESULTS = Path(__file__).resolve().parent.parent / "results" / "bench"


@dataclass(frozen=True)
class Comparison:
    """One line: our number beside a peer's. ``goal`` None: shown for information, nothing to hold."""

    work: str
    ours: float | None
    peer: float | None
    peer_name: str
    unit: str
    goal: float | None = None

    @property
    def ratio(self) -> float | None:
        if self.ours is None or self.peer is None:
            return None
        numerator, denominator = (self.ours, self.peer) if self.unit.endswith("/s") else (self.peer, self.ours)
        return numerator / denominator if denominator else None

    @property
    def holds(self) -> bool | None:
        return None if self.goal is None or self.ratio is None else self.ratio >= self.goal

    def cells(self) -> list[str]:
        numbers = [_number(value) for value in (self.ours, self.peer, self.ratio, self.goal)]
        holds = {None: "", True: "yes", False: "no"}[self.holds]
        return [self.work, numbers[0], numbers[1], self.peer_name, self.unit, numbers[2], numbers[3], holds]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def write_comparisons(
    name: str, comparisons: Sequence[Comparison], machine: dict[str, str | int | float], folder: Path = RESULTS
) -> Path:
    """Write ``<folder>/<name>.csv`` and, beside it, the machine it was measured on; return the table's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(comparison.cells() for comparison in comparisons)
    (folder / f"{name}.machine.json").write_text(json.dumps(machine, indent=2) + "\n")
    return path


def format_comparisons(comparisons: Sequence[Comparison]) -> str:
    """The table as aligned text, numbers to the right."""
    rows = [list(COLUMNS), *(comparison.cells() for comparison in comparisons)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    right = {"ours", "peer", "ratio", "goal"}
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if title in right else cell.ljust(width) for cell, width, title in zip(row, widths, COLUMNS)
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
