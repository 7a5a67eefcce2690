"""Pictures of a table's runs.

A table's folder may name functions under ``drawings:`` (dotted paths, e.g. ``experiments.drawings.trajectories.draw_eta``).
Each is given the finished runs behind the cells and returns a matplotlib figure, which goes to
``results/<table>/<scale>/<function>.png``. Whatever is drawn comes from the runs' records, their logged epochs
(``metrics.jsonl``) and their arrays (``arrays.npz``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hydra.utils import get_method
from matplotlib.figure import Figure

from experiments.pictures import save_picture
from experiments.table_runs import Records, TableRuns
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.table import Table
from symlab.errors import TableError
from symlab.records import RunDirectory


@dataclass(frozen=True)
class DrawnRun:
    """One finished run of a cell."""

    row: str
    column: str
    record: Mapping[str, Any]
    directory: RunDirectory

    @property
    def seed(self) -> int:
        return self.record["config"]["seed"]

    @property
    def metrics(self) -> Mapping[str, float]:
        return self.record["metrics"]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One mapping for each logged epoch."""
        return self.directory.metrics()

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return self.directory.arrays()


@dataclass(frozen=True)
class Drawable:
    """A table's content as a drawing sees it; a cell whose runs have not finished has none in ``runs``."""

    table: Table
    scale: str
    measurements: Mapping[tuple[str, str], Measurement]
    runs: Mapping[tuple[str, str], list[DrawnRun]]

    def value(self, row: str, column: str) -> float | None:
        return self.measurements[row, column].value

    @property
    def all_runs(self) -> list[DrawnRun]:
        """Every run once, in the order of the cells, though several cells may share it."""
        return list({run.directory.key: run for runs in self.runs.values() for run in reversed(runs)}.values())


Drawing = Callable[[Drawable], Figure]


def find_drawing(table: Table, name: str) -> Drawing:
    try:
        return get_method(name)
    except (ImportError, ValueError, AttributeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise TableError(f"{table.folder / 'table.yaml'}: drawings: {name} cannot be imported: {reason}") from error


def collect(runs: TableRuns, measurements: Mapping[tuple[str, str], Measurement], records: Records) -> Drawable:
    found = {}
    for (row, column), keys in runs.keys.items():
        found[row, column] = [
            DrawnRun(row, column, records[key], RunDirectory(runs.directory, key)) for key in keys if key in records
        ]
    return Drawable(runs.table, runs.scale, measurements, found)


def draw(content: Drawable, directory: Path) -> list[Path]:
    """Draw everything that the table names; nothing while no run has finished."""
    if not any(content.runs.values()):
        return []
    paths = []
    for name in content.table.drawings:
        path = directory / picture_name(name)
        save_picture(find_drawing(content.table, name)(content), path)
        paths.append(path)
    return paths


def picture_name(drawing: str) -> str:
    return f"{drawing.rpartition('.')[2]}.png"
