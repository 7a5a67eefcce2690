"""Reading a table's folder (``table.yaml``, ``paper.csv``, ``claims.yaml``) into a checked ``Table``.

Everything that can be wrong without running anything is found here: unknown keys and labels, wrong types, claims that do
not parse. Each is a one-line TableError that names the file and the key.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from experiments.tabulation.claims import load_statements
from experiments.tabulation.fields import Fields
from experiments.tabulation.files import read_yaml, suggest
from experiments.tabulation.paper_values import PaperValue, read_paper_values
from experiments.tabulation.table import (
    KINDS,
    REQUIRED_SCALES,
    SCALES,
    Cell,
    CellException,
    Line,
    Metric,
    Scale,
    Statement,
    Table,
)
from symlab.errors import TableError

__all__ = ["Cell", "Line", "Metric", "PaperValue", "Scale", "Statement", "Table", "find_table", "load_table", "load_tables"]

_TABLE_KEYS = (
    "id",
    "paper",
    "number",
    "title",
    "caption",
    "overrides",
    "same_run_as",
    "rows",
    "columns",
    "exceptions",
    "scales",
    "kind",
    "drawings",
)
_LINE_KEYS = ("label", "overrides", "metric", "scale", "digits", "better", "missing")
_COLUMN_KEYS = (*_LINE_KEYS, "words")
_ROW_KEYS = (*_LINE_KEYS, "about")
_SCALE_KEYS = ("seeds", "overrides", "rows", "columns", "note", "missing")
_NAME = re.compile(r"[a-z0-9_]+")  # ids and numbers become directories and make targets


def load_tables(root: Path) -> dict[str, Table]:
    """Load every folder under ``root`` that has a table.yaml; two tables of the same id or number are a TableError."""
    if not root.is_dir():
        raise TableError(f"{root}: there is no such directory of tables")
    tables: dict[str, Table] = {}
    commands: dict[str, Table] = {}
    for folder in sorted(file.parent for file in root.glob("*/table.yaml")):
        table = load_table(folder)
        for what, name, known in (("id", table.id, tables), ("command", table.command, commands)):
            if name in known:
                raise TableError(f"{known[name].folder} and {folder} have the same {what} {name!r}; change one of them")
            known[name] = table
    return tables


def find_table(tables: Mapping[str, Table], table_id: str) -> Table:
    """Return the table of that id, or raise a TableError with the closest ids."""
    if table_id not in tables:
        raise TableError(f"there is no table {table_id!r}; {suggest(table_id, tables)}")
    return tables[table_id]


def load_table(folder: Path) -> Table:
    """Read one table's folder and check all of it."""
    file = folder / "table.yaml"
    fields = Fields(read_yaml(file), file, known=_TABLE_KEYS)
    rows, columns = _lines(fields, "rows", _ROW_KEYS), _lines(fields, "columns", _COLUMN_KEYS)
    row_labels, column_labels = [row.label for row in rows], [column.label for column in columns]
    words = {label: entry.texts("words") for label, entry in zip(column_labels, _entries(fields, "columns"), strict=True)}
    kind = fields.choice("kind", KINDS) or KINDS[0]
    paper_values: dict[tuple[str, str], PaperValue] = {}
    if kind != "figure" or (folder / "paper.csv").exists():  # a paper's figure may print no number at all
        paper_values = read_paper_values(folder / "paper.csv", row_labels, column_labels, words)
    printed = {place: value.value for place, value in paper_values.items() if value.value is not None}
    table = Table(
        id=_name(fields, "id"),
        paper=_name(fields, "paper"),
        number=_name(fields, "number"),
        title=fields.text("title"),
        caption=fields.text("caption"),
        folder=folder,
        overrides=fields.overrides(),
        rows=rows,
        columns=columns,
        exceptions=_exceptions(fields, row_labels, column_labels),
        scales=_scales_of_run(fields) if "same_run_as" in fields else _scales(fields, row_labels, column_labels),
        paper_values=paper_values,
        statements=load_statements(folder / "claims.yaml", row_labels, column_labels, printed),
        kind=kind,
        drawings=fields.texts("drawings"),
    )
    table.cells(REQUIRED_SCALES[0])  # raises where a cell has no metric
    return table


def _name(fields: Fields, key: str) -> str:
    name = fields.text(key)
    if not _NAME.fullmatch(name):
        raise fields.error(key, f"must consist of a-z, 0-9 and _, not {name!r}; it names directories and make targets")
    return name


def _entries(fields: Fields, key: str, known: Collection[str] = ()) -> list[Fields]:
    items = fields.items(key)
    return [Fields(data, fields.file, f"{fields.path(key)}[{index}]", tuple(known)) for index, data in enumerate(items)]


def _lines(fields: Fields, key: str, known: Collection[str]) -> tuple[Line, ...]:
    lines: list[Line] = []
    for entry in _entries(fields, key, known):
        label = entry.text("label")
        if any(line.label == label for line in lines):
            raise entry.error("label", f"{label!r} occurs twice in {key}; labels must differ")
        about = entry.nested("about")
        texts = {str(name): about.text(name, default="") for name in about.data}
        lines.append(Line(label, entry.overrides(), _metric_parts(entry), entry.optional_text("missing"), texts))
    if not lines:
        raise fields.error(key, "is missing or empty; a table needs at least one")
    return tuple(lines)


def _metric_parts(entry: Fields) -> dict[str, object]:
    """Return the fields of a Metric that ``entry`` states, and only those."""
    parts: dict[str, object] = {}
    if "metric" in entry:
        parts["key"] = entry.text("metric")
    if "scale" in entry:
        parts["scale"] = entry.number("scale", 1.0)
    if "digits" in entry:
        parts["digits"] = entry.integer("digits", 2)
    if "better" in entry.data:
        parts["better"] = entry.choice("better", ("higher", "lower"))
    if "words" in entry:
        parts["words"] = entry.texts("words")
    return parts


def _exceptions(fields: Fields, rows: Collection[str], columns: Collection[str]) -> dict[tuple[str, str], CellException]:
    exceptions: dict[tuple[str, str], CellException] = {}
    for index, data in enumerate(fields.items("exceptions")):
        entry = Fields(data, fields.file, f"exceptions[{index}]", ("row", "column", "overrides", "missing"))
        place = (_known_label(entry, "row", rows), _known_label(entry, "column", columns))
        if ("overrides" in entry) == ("missing" in entry):
            raise entry.error("overrides", "give either overrides or missing, not both and not neither")
        if place in exceptions:
            raise entry.error("row", f"the cell {place} already has an exception; join them")
        exceptions[place] = CellException(entry.overrides(), entry.optional_text("missing"))
    return exceptions


def _known_label(entry: Fields, key: str, known: Collection[str]) -> str:
    label = entry.text(key)
    if label not in known:
        raise entry.error(key, f"unknown {key} {label!r}; {suggest(label, known)}")
    return label


def _scales(fields: Fields, rows: Collection[str], columns: Collection[str]) -> dict[str, Scale]:
    nested = fields.nested("scales", SCALES)
    for name in REQUIRED_SCALES:
        if name not in nested:
            raise nested.error(name, f"is missing; every table has the scales {', '.join(REQUIRED_SCALES)}")
    return {name: _scale(nested, name, rows, columns) for name in SCALES if name in nested}


def _scales_of_run(fields: Fields) -> dict[str, Scale]:
    """A table that looks at one run of another table takes that cell's seeds, overrides and note, scale by scale."""
    entry = fields.nested("same_run_as", ("table", "row", "column"))
    for key in ("overrides", "scales"):
        if key in fields:
            raise fields.error(key, "is decided by same_run_as; drop one of them")
    folder = fields.file.parent.parent / entry.text("table")
    if not (folder / "table.yaml").is_file() or folder == fields.file.parent:
        raise entry.error("table", f"{folder.name!r} is no other table in {folder.parent}")
    other = load_table(folder)
    place = _known_label(entry, "row", other.row_labels), _known_label(entry, "column", other.column_labels)
    scales = {}
    for name, scale in other.scales.items():
        cell = next(cell for cell in other.cells(name) if cell.place == place)
        if cell.overrides is None:
            raise entry.error("row", f"the cell {place} of {other.id} has no run: {cell.missing}")
        note = f"the run behind {place[0]} / {place[1]} of {other.id}: {scale.note}"
        scales[name] = Scale(name, cell.seeds, cell.overrides, note=note)
    return scales


def _scale(scales: Fields, name: str, rows: Collection[str], columns: Collection[str]) -> Scale:
    entry = scales.nested(name, _SCALE_KEYS)
    parts: dict[str, dict[str, tuple[str, ...]]] = {}
    for key, labels in (("rows", rows), ("columns", columns)):
        nested = entry.nested(key)
        for label in nested.data:
            if label not in labels:
                raise nested.error(label, f"unknown {key[:-1]} {str(label)!r}; {suggest(str(label), labels)}")
        parts[key] = {label: nested.overrides(label) for label in nested.data}
    nested = entry.nested("missing", (*rows, *columns))
    missing: dict[str, str] = {}
    missing_cells: dict[tuple[str, str], str] = {}
    for label, reason in nested.data.items():
        if label in rows and isinstance(reason, dict):
            cells = nested.nested(label, tuple(columns))
            missing_cells |= {(label, column): cells.text(column) for column in cells.data}
        else:
            missing[label] = nested.text(label)
    note = entry.text("note", default="" if name == "paper" else None)
    return Scale(name, entry.seeds(), entry.overrides(), parts["rows"], parts["columns"], note, missing, missing_cells)
