"""List every table with its command and state: ``python3 experiments/tabulation/status.py``.

Uses the standard library only, so that ``make help`` works before anything is installed; what it shows of table.yaml are
the lines ``title:``, ``paper:``, ``number:`` and ``kind:``.
"""

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SCALES = ("smoke", "quick", "cpu", "paper")
_PLACES = (Path("results"), Path("docs") / "results")


@dataclass(frozen=True)
class Outline:
    """The part of a table's folder that is shown in lists."""

    folder: str
    id: str
    paper: str
    number: str
    title: str
    kind: str = "table"

    @property
    def command(self) -> str:
        return f"make reproduce-{self.paper}-{self.kind}{self.number}"


def read_outlines(tables: Path) -> list[Outline]:
    """Return an outline of each folder under ``tables`` that has a table.yaml."""
    outlines = []
    for file in sorted(tables.glob("*/table.yaml")):
        text = file.read_text(encoding="utf-8", errors="replace")
        found = {key: _top_level(text, key) for key in ("id", "paper", "number", "title", "kind")}
        folder = file.parent.name
        own_id, paper, number = found["id"] or folder, found["paper"] or "?", found["number"] or "?"
        outlines.append(Outline(folder, own_id, paper, number, found["title"] or folder, found["kind"] or "table"))
    return outlines


def count_cells(measured: Path) -> tuple[int, int]:
    """Return how many cells of a measured.csv have a value, and how many there are; (0, 0) without the file."""
    try:
        with measured.open(encoding="utf-8", newline="") as stream:
            values = [line.get("value") or "" for line in csv.DictReader(stream)]
    except FileNotFoundError:
        return 0, 0
    return sum(bool(value) for value in values), len(values)


def describe_state(root: Path, table_id: str) -> str:
    """Return the state per scale, such as 'quick 4/12 cells, published'; 'not measured' if there is none."""
    states = []
    for scale in SCALES:
        local, published = (count_cells(root / place / table_id / scale / "measured.csv") for place in _PLACES)
        if local[0]:
            mark = ", published" if local == published else f", published with {published[0]}" if published[0] else ""
            states.append(f"{scale} {local[0]}/{local[1]} cells{mark}")
        elif published[0]:
            states.append(f"{scale} {published[0]}/{published[1]} cells, published")
    return "; ".join(states) or "not measured"


def describe_tables(root: Path) -> Iterator[str]:
    """Yield the lines that ``make help`` shows: a command with its title, below it the state."""
    outlines = read_outlines(root / "experiments" / "tables")
    width = max((len(outline.command) for outline in outlines), default=0)
    for outline in outlines:
        yield f"  {outline.command:<{width}}  {outline.title}"
        yield f"  {'':<{width}}  {describe_state(root, outline.id)}"
    if not outlines:
        yield "  no tables yet: add a folder to experiments/tables"


def _top_level(text: str, key: str) -> str:
    match = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    value = match.group(1) if match else ""
    quoted = re.match(r"""(["'])(.*?)\1""", value)
    return quoted.group(2) if quoted else re.sub(r"\s+#.*$", "", value)


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    for line in describe_tables(root):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
