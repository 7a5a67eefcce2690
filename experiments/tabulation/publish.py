"""Copy results into the documentation: ``python -m experiments.tabulation.publish``.

Every ``results/<id>/<scale>/`` with measured cells goes to ``docs/results/<id>/<scale>/``; the index there and the block
of README.md between the two markers are then written from docs/results alone, so running it again changes nothing.
"""

import argparse
import csv
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.tabulation.files import read_text, write_atomically, write_errors
from experiments.tabulation.presentation import format_minutes
from experiments.tabulation.specification import Table, load_tables
from experiments.tabulation.status import SCALES, count_cells
from symlab.errors import SymlabError, TableError

BEGIN, END = "<!-- tables:begin -->", "<!-- tables:end -->"
PUBLISHED = ("TABLE.md", "table.html", "measured.csv", "claims.csv", "environment.json", "*.png", "*.svg")
_DEFAULT_SCALE = "quick"  # of the Makefile
_HEADER = ("table", "title", "command", "scale", "cells measured", "claims held", "minutes")


@dataclass(frozen=True)
class Publication:
    """One published scale of a table, as its files in docs/results say."""

    scale: str
    page: str
    cells: str
    claims: str
    minutes: str


def publish(root: Path) -> list[Path]:
    """Publish all results under ``root`` and return the directories that were copied."""
    tables = load_tables(root / "experiments" / "tables")
    destination = root / "docs" / "results"
    readme = root / "README.md"
    before, after = _around_block(readme)  # checked first: nothing is copied if the README cannot be updated
    copied = []
    for table_id in tables:
        for scale in SCALES:
            source = root / "results" / table_id / scale
            if count_cells(source / "measured.csv")[0]:
                _mirror(source, destination / table_id / scale)
                copied.append(destination / table_id / scale)
    publications = {table_id: _publications(destination, table_id) for table_id in tables}
    write_atomically(destination / "README.md", _index(tables.values(), publications))
    write_atomically(readme, before + BEGIN + "\n" + _block(tables.values(), publications) + END + after)
    return copied


def _mirror(source: Path, destination: Path) -> None:
    """Make the published files of ``destination`` those of ``source``; other files there are left alone."""
    wanted = {file.name: file for pattern in PUBLISHED for file in source.glob(pattern)}
    with write_errors(destination):
        destination.mkdir(parents=True, exist_ok=True)
        for stale in (file for pattern in PUBLISHED for file in destination.glob(pattern) if file.name not in wanted):
            stale.unlink()
        for name, file in wanted.items():
            shutil.copyfile(file, destination / name)


def _publications(docs: Path, table_id: str) -> list[Publication]:
    """Return what docs/results holds of a table, from the cheapest scale to the paper's."""
    found = []
    for scale in SCALES:
        folder = docs / table_id / scale
        measured, cells = count_cells(folder / "measured.csv")
        if measured:
            page = f"{table_id}/{scale}/TABLE.md"
            found.append(Publication(scale, page, f"{measured} / {cells}", _claims(folder), _minutes(folder)))
    return found


def _claims(folder: Path) -> str:
    verdicts = [line["holds"] for line in csv.DictReader(read_text(folder / "claims.csv").splitlines())]
    missing = verdicts.count("missing")
    return f"{verdicts.count('true')} / {len(verdicts)}" + (f" ({missing} missing)" if missing else "")


def _minutes(folder: Path) -> str:
    file = folder / "environment.json"
    try:
        minutes = json.loads(read_text(file)).get("minutes")
    except (json.JSONDecodeError, AttributeError):
        raise TableError(f"{file}: is not a JSON object; reproduce the table again and publish") from None
    return "" if minutes is None else format_minutes(minutes)


def _block(tables: Iterable[Table], publications: dict[str, list[Publication]]) -> str:
    """Return one line per table, with the largest published scale."""
    lines = []
    for table in _ordered(tables):
        published = publications[table.id]
        lines.append(_line(table, published[-1] if published else None, "docs/results/"))
    return _markdown(lines)


def _index(tables: Iterable[Table], publications: dict[str, list[Publication]]) -> str:
    """Return the page of docs/results: one line per table and published scale."""
    lines = []
    for table in _ordered(tables):
        published: Sequence[Publication | None] = publications[table.id] or [None]
        lines += [_line(table, publication, "") for publication in published]
    head = "# Results\n\nWritten by `python -m experiments.tabulation.publish`; do not edit.\n\n"
    return head + _markdown(lines)


def _ordered(tables: Iterable[Table]) -> list[Table]:
    return sorted(tables, key=lambda table: (table.paper, len(table.number), table.number))


def _line(table: Table, publication: Publication | None, prefix: str) -> tuple[str, ...]:
    title = table.title.replace("|", r"\|")
    if publication is None:
        cells = f"0 / {len(table.rows) * len(table.columns)}"
        return table.id, title, f"`{table.command}`", "not measured", cells, "", ""
    name = f"[{table.id}]({prefix}{publication.page})"
    scale = "" if publication.scale == _DEFAULT_SCALE else f" SCALE={publication.scale}"
    command = f"`{table.command}{scale}`"
    return name, title, command, publication.scale, publication.cells, publication.claims, publication.minutes


def _markdown(lines: list[tuple[str, ...]]) -> str:
    rows = [_HEADER, ("---",) * len(_HEADER), *lines]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _around_block(readme: Path) -> tuple[str, str]:
    text = read_text(readme)
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise TableError(f"{readme}: needs the lines {BEGIN} and {END} once each and in this order; add them")
    return text.split(BEGIN)[0], text.split(END)[1]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Copy results into docs/results and update README.md.")
    parser.add_argument("--root", type=Path, default=Path(), help="the project's directory (default: the current one)")
    try:
        for folder in publish(parser.parse_args(arguments).root):
            print(f"published {folder}")
    except SymlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
