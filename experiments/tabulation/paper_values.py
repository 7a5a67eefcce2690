"""The numbers a paper prints, read from ``paper.csv`` (columns row,column,value,spread,note)."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.tabulation.files import read_text, suggest
from symlab.errors import TableError

COLUMNS = ("row", "column", "value", "spread", "note")


@dataclass(frozen=True)
class PaperValue:
    """One printed number; ``text`` keeps its digits as printed (95.10), ``value`` is None for a blank cell."""

    value: float | None
    text: str = ""
    spread: float | None = None
    spread_text: str = ""
    note: str = ""


def read_paper_values(
    file: Path, rows: Collection[str], columns: Collection[str], words: Mapping[str, Sequence[str]] | None = None
) -> dict[tuple[str, str], PaperValue]:
    """Read ``file``; a label that is not in ``rows`` or ``columns``, a repeated cell or a bad number is a TableError.

    In a column with ``words`` (by its label) one of them stands for its number, counted from 0.
    """
    lines = list(csv.reader(io.StringIO(read_text(file), newline="")))
    if not lines or tuple(lines[0]) != COLUMNS:
        raise TableError(f"{file}: line 1 must be {','.join(COLUMNS)}")
    values: dict[tuple[str, str], PaperValue] = {}
    for at, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        if len(line) != len(COLUMNS):
            raise TableError(f"{file}: line {at} has {len(line)} fields, not {len(COLUMNS)}; quote labels with commas")
        row, column, value, spread, note = (field.strip() for field in line)
        for kind, label, known in (("row", row, rows), ("column", column, columns)):
            if label not in known:
                raise TableError(f"{file}: line {at}: unknown {kind} {label!r}; {suggest(label, known)}")
        if (row, column) in values:
            raise TableError(f"{file}: line {at}: the cell ({row!r}, {column!r}) occurs twice; keep one")
        where = f"{file}: line {at}: "
        spelled = (words or {}).get(column, ())
        number = float(spelled.index(value)) if value in spelled else _number(value, where + "value")
        values[row, column] = PaperValue(number, value, _number(spread, where + "spread"), spread, note)
    return values


def _number(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise TableError(f"{where} must be a number or empty, not {text!r}; put remarks in the note column") from None
