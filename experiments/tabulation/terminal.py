"""A table in a terminal, through rich: readable at 100 columns, and plain text where the output is not a terminal."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from experiments.tabulation.claims import Claim
from experiments.tabulation.expression import Place
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.presentation import MARKS, VERDICTS, CellView, Context, View, present
from experiments.tabulation.table import Table

_STYLES = {"true": "green", "false": "red", "missing": "dim"}
_PLAIN_WIDTH = 100  # of a file or a pipe, which have no width of their own
_GAP = 3  # blanks rich puts between columns


def print_table(
    table: Table,
    scale: str,
    measurements: Mapping[Place, Measurement],
    claims: Sequence[Claim],
    context: Context,
    console: Console | None = None,
) -> None:
    """Print the table, its footnotes and its claims; the paper's number stands below ours in each cell."""
    console = console or _default_console()
    view = present(table, scale, measurements, claims, context)
    console.print()
    console.print(Text(view.heading, style="bold"))
    console.print(Text(view.scale))
    for note in view.notes:
        console.print(Text(f"- {note}"))
    with_about = _width(view, with_about=True) <= console.width
    stacked = _width(view, with_about) > console.width
    console.print(_grid(view, with_about, stacked))
    console.print(Text(view.legend.rstrip(".") + (" in parentheses." if stacked else "."), style="dim"))
    for number, text in enumerate(view.footnotes, start=1):
        console.print(Text(f"[{number}] {text}", style="dim"))
    for claim in view.claims:
        head = Text(f"{MARKS[claim.verdict]} {VERDICTS[claim.verdict]}: ", style=_STYLES[claim.verdict])
        console.print(head.append(claim.text, style="default"))
        console.print(Padding(Text(claim.detail, style="dim"), (0, 0, 0, 2)))
    console.print(Text("; ".join(f"{key}: {text}" for key, text in view.environment), style="dim"))


def _default_console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_PLAIN_WIDTH)


def _grid(view: View, with_about: bool, stacked: bool) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, show_lines=False, pad_edge=False, header_style="bold")
    grid.add_column("", overflow="fold")
    for label in view.about_labels if with_about else ():
        grid.add_column(Text(label))
    for label in view.column_labels:
        grid.add_column(Text(label, justify="right"), justify="right", overflow="fold")
    for row in view.rows:
        about = [Text(text) for text in row.about] if with_about else []
        grid.add_row(Text(row.label), *about, *(_cell(cell, stacked) for cell in row.cells))
    return grid


def _cell(cell: CellView, stacked: bool) -> Text:
    """Return our number above the paper's; ``stacked`` puts spreads on lines of their own and the paper's in parentheses."""
    ours, paper = (text.replace(" ± ", "\n± ") if stacked else text for text in (cell.ours, cell.paper))
    text = Text(ours, style="default" if cell.measured else "italic", justify="right")
    if cell.markers:
        text.append(f" [{','.join(str(marker) for marker in cell.markers)}]", style="dim")
    if paper:
        text.append(f"\n({paper})" if stacked else f"\npaper {paper}", style="dim")
    return text


def _width(view: View, with_about: bool) -> int:
    """Return the columns of the terminal that the table needs with labels broken at blanks, but no number broken."""
    widths = [max(len(word) for row in view.rows for word in row.label.split())]
    for index, label in enumerate(view.about_labels if with_about else ()):
        widths.append(max(len(label), *(len(row.about[index]) for row in view.rows)))
    for index, label in enumerate(view.column_labels):
        lines = [line for row in view.rows for line in _cell(row.cells[index], stacked=False).plain.splitlines()]
        widths.append(max(len(text) for text in (*label.split(), *lines)))
    return sum(width + _GAP for width in widths)
