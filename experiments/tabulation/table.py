"""What a table is: rows and columns that carry overrides and a metric, and scales that say how much to spend.

The overrides of one run, later ones winning over earlier ones with the same key:
table, column, row, scale, the scale's column, the scale's row, exception.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from experiments.tabulation.expression import Expression
from experiments.tabulation.overrides import merge_overrides
from experiments.tabulation.paper_values import PaperValue
from symlab.errors import TableError

KINDS = ("table", "figure")
SCALES = ("smoke", "quick", "cpu", "paper")  # from the cheapest to the paper's own budget
REQUIRED_SCALES = ("smoke", "quick", "paper")


@dataclass(frozen=True)
class Metric:
    """Which number of a run record is shown, and how: multiplied by ``scale``, with ``digits`` decimals.

    ``words`` are for a number that counts kinds: 0 is shown as the first word, 1 as the second. A mean over seeds that
    disagree is shown as a number.
    """

    key: str
    scale: float = 1.0
    digits: int = 2
    better: str | None = None
    words: tuple[str, ...] = ()

    def format(self, value: float) -> str:
        """Return an already scaled ``value`` as it is shown."""
        if value in range(len(self.words)):
            return self.words[int(value)]
        return f"{value:.{self.digits}f}"


@dataclass(frozen=True)
class Line:
    """A row or a column. ``metric`` holds the parts of a Metric that were written for it, by field name."""

    label: str
    overrides: tuple[str, ...] = ()
    metric: Mapping[str, object] = field(default_factory=dict)
    missing: str | None = None
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CellException:
    """What one cell does differently: further overrides, or a reason why it has no run."""

    overrides: tuple[str, ...] = ()
    missing: str | None = None


@dataclass(frozen=True)
class Scale:
    """A budget: its seeds and overrides for all cells, for one row and for one column. ``missing``: why a row or a column,
    by its label, has no runs at this scale; ``missing_cells``: why a single cell has none."""

    name: str
    seeds: tuple[int, ...]
    overrides: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)
    missing_cells: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def why_missing(self, row: str, column: str) -> str | None:
        return self.missing.get(row) or self.missing.get(column) or self.missing_cells.get((row, column))

    @property
    def reduced(self) -> bool:
        return self.name != "paper"


@dataclass(frozen=True)
class Cell:
    """One number of a table. Either ``overrides`` (its runs, one per seed) or ``missing`` (why it has none) is None."""

    row: str
    column: str
    metric: Metric
    overrides: tuple[str, ...] | None
    seeds: tuple[int, ...]
    missing: str | None

    @property
    def place(self) -> tuple[str, str]:
        return self.row, self.column


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper about its table, with the expression that decides it."""

    text: str
    expression: Expression


@dataclass(frozen=True)
class Table:
    """A table of a paper, or the numbers behind one of its figures, as its folder describes it.

    ``drawings`` are functions that draw its runs, by their dotted names.
    """

    id: str
    paper: str
    number: str
    title: str
    caption: str
    folder: Path
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    scales: Mapping[str, Scale]
    overrides: tuple[str, ...] = ()
    exceptions: Mapping[tuple[str, str], CellException] = field(default_factory=dict)
    paper_values: Mapping[tuple[str, str], PaperValue] = field(default_factory=dict)
    statements: tuple[Statement, ...] = ()
    kind: str = "table"
    drawings: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        return f"make reproduce-{self.paper}-{self.kind}{self.number}"

    @property
    def row_labels(self) -> tuple[str, ...]:
        return tuple(row.label for row in self.rows)

    @property
    def column_labels(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.columns)

    @property
    def about_labels(self) -> tuple[str, ...]:
        """The text columns, in the order in which rows first mention them."""
        return tuple(dict.fromkeys(label for row in self.rows for label in row.about))

    def scale(self, name: str) -> Scale:
        if name not in self.scales:
            raise TableError(f"{self.folder / 'table.yaml'}: no scale {name!r}; there are: {', '.join(self.scales)}")
        return self.scales[name]

    def metric(self, row: Line, column: Line) -> Metric:
        """A row's metric fields replace the column's field by field; all of them, where both name a metric.

        ``{row}`` in a metric stands for the row's label: a column of one number for each layer, say.
        """
        both = "key" in row.metric and "key" in column.metric
        parts = dict(row.metric) if both else {**column.metric, **row.metric}
        if "key" not in parts:
            where = f"row {row.label!r} and column {column.label!r}"
            raise TableError(f"{self.folder / 'table.yaml'}: metric: is missing in both {where}; add it to one of them")
        parts["key"] = str(parts["key"]).replace("{row}", row.label)
        return Metric(**parts)  # type: ignore[arg-type]

    def cells(self, scale: str) -> list[Cell]:
        """Return every cell, row by row."""
        return [self._cell(row, column, self.scale(scale)) for row in self.rows for column in self.columns]

    def _cell(self, row: Line, column: Line, scale: Scale) -> Cell:
        exception = self.exceptions.get((row.label, column.label))
        # An exception that gives overrides lets its cell run although its row or column is missing.
        missing = exception.missing if exception else row.missing or column.missing
        missing = missing or scale.why_missing(row.label, column.label)
        metric = self.metric(row, column)
        if missing:
            return Cell(row.label, column.label, metric, None, scale.seeds, missing)
        overrides = merge_overrides(
            self.overrides,
            column.overrides,
            row.overrides,
            scale.overrides,
            scale.columns.get(column.label, ()),
            scale.rows.get(row.label, ()),
            exception.overrides if exception else (),
        )
        return Cell(row.label, column.label, metric, overrides, scale.seeds, None)
