"""What every rendered form of a table says, as plain text; the renderers only add their markup.

No cell is marked as the best one: whether rows or columns may be compared differs between tables, and a wrong mark misleads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiments.tabulation.claims import Claim
from experiments.tabulation.expression import Place
from experiments.tabulation.files import one_line
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.table import Cell, Line, Metric, Scale, Table

NOT_RUN = Measurement.missing("it has not been run")
MARKS = {"true": "✓", "false": "✗", "missing": "○"}
VERDICTS = {"true": "holds", "false": "does not hold", "missing": "missing"}
_ARROWS = {"higher": " (↑)", "lower": " (↓)"}


@dataclass(frozen=True)
class Context:
    """What a reader needs to know about the runs beside their numbers.

    Args:
        command: what reproduces the table.
        minutes: the time its runs took together, None if unknown.
        notes: what differs from the paper, such as stand-in data.
        environment: device, threads, commit, date and versions, shown in this order.
        pictures: names of image files beside the table.
    """

    command: str
    minutes: float | None = None
    notes: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    pictures: Sequence[str] = ()


@dataclass(frozen=True)
class CellView:
    """``ours`` is a number or the state's name, ``paper`` the printed number or empty, ``markers`` number the footnotes."""

    ours: str
    paper: str
    markers: tuple[int, ...]
    measured: bool


@dataclass(frozen=True)
class RowView:
    label: str
    about: tuple[str, ...]
    cells: tuple[CellView, ...]


@dataclass(frozen=True)
class View:
    """A whole table, ready to be marked up."""

    heading: str
    caption: str
    scale: str
    legend: str
    notes: tuple[str, ...]
    about_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    rows: tuple[RowView, ...]
    footnotes: tuple[str, ...]
    claims: tuple[Claim, ...]
    environment: tuple[tuple[str, str], ...]
    pictures: tuple[str, ...] = ()


def present(
    table: Table, scale: str, measurements: Mapping[Place, Measurement], claims: Sequence[Claim], context: Context
) -> View:
    """Collect what is shown; a cell without a measurement is shown as missing."""
    cells = {cell.place: cell for cell in table.cells(scale)}
    footnotes: dict[str, int] = {}
    rows = []
    for row in table.rows:
        places = [(row.label, column.label) for column in table.columns]
        views = [_cell_view(table, cells[place], measurements.get(place, NOT_RUN), footnotes) for place in places]
        rows.append(RowView(row.label, tuple(row.about.get(label, "") for label in table.about_labels), tuple(views)))
    minutes = [("minutes", format_minutes(context.minutes))] if context.minutes is not None else []
    return View(
        heading=f"{table.title} ({table.paper}, {table.kind.capitalize()} {table.number.strip('_').upper()})",
        caption=table.caption,
        scale=_scale_line(table.scale(scale)),
        legend="Our number (± sample standard deviation over seeds), then the paper's.",
        notes=tuple(one_line(note) for note in context.notes),
        about_labels=table.about_labels,
        column_labels=tuple(column.label + _arrow(table, column) for column in table.columns),
        rows=tuple(rows),
        footnotes=tuple(footnotes),
        claims=tuple(claims),
        environment=(
            ("command", context.command),
            *minutes,
            *((key, str(text)) for key, text in context.environment.items()),
        ),
        pictures=tuple(context.pictures),
    )


def format_minutes(minutes: float) -> str:
    """Return a duration in minutes with one decimal, or two significant digits below one minute."""
    return f"{minutes:.1f}" if minutes >= 1 else f"{minutes:.2g}"


def _cell_view(table: Table, cell: Cell, measurement: Measurement, footnotes: dict[str, int]) -> CellView:
    printed = table.paper_values.get(cell.place)
    markers = []
    if measurement.reason:
        markers.append(_footnote(f"{measurement.state}: {one_line(measurement.reason)}", footnotes))
    if printed and printed.note:
        markers.append(_footnote(f"paper: {one_line(printed.note)}", footnotes))
    paper = f"{printed.text} ± {printed.spread_text}" if printed and printed.spread_text else printed.text if printed else ""
    return CellView(_ours(cell.metric, measurement), paper, tuple(markers), measurement.value is not None)


def _ours(metric: Metric, measurement: Measurement) -> str:
    if measurement.value is None:
        return measurement.state
    spread = "" if measurement.spread is None or metric.words else f" ± {metric.format(measurement.spread)}"
    return metric.format(measurement.value) + spread


def _footnote(text: str, footnotes: dict[str, int]) -> int:
    return footnotes.setdefault(text, len(footnotes) + 1)


def _arrow(table: Table, column: Line) -> str:
    """Return the direction that is better, if all rows of the column agree on one."""
    better = {table.metric(row, column).better for row in table.rows}
    return _ARROWS.get(better.pop() or "", "") if len(better) == 1 else ""


def _scale_line(scale: Scale) -> str:
    head = f"Reduced scale '{scale.name}'" if scale.reduced else "Scale 'paper', the paper's own budget"
    seeds = f"Seed{'s' if len(scale.seeds) > 1 else ''}: {', '.join(str(seed) for seed in scale.seeds)}."
    note = scale.note.rstrip(".")
    return f"{head}{': ' + note if note else ''}. {seeds}"
