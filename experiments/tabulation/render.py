"""Writing a table's files: ``measured.csv`` and ``claims.csv`` are the contract, the others are for people.

measured.csv has the columns row,column,value,spread,seeds,paper,paper_spread and one line per cell of the table; a cell
without a number has an empty value and 0 seeds. claims.csv has claim,holds,detail with holds one of true, false, missing.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from experiments.tabulation.claims import Claim
from experiments.tabulation.expression import Place
from experiments.tabulation.files import write_atomically
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.paper_values import PaperValue
from experiments.tabulation.presentation import NOT_RUN, Context, present
from experiments.tabulation.render_html import render_html
from experiments.tabulation.render_latex import render_latex
from experiments.tabulation.render_markdown import render_markdown
from experiments.tabulation.table import Table

MEASURED_COLUMNS = ("row", "column", "value", "spread", "seeds", "paper", "paper_spread")
CLAIM_COLUMNS = ("claim", "holds", "detail")
_BLANK = PaperValue(None)


def write_table(
    directory: Path,
    table: Table,
    scale: str,
    measurements: Mapping[Place, Measurement],
    claims: Sequence[Claim],
    context: Context,
) -> list[Path]:
    """Write every form of ``table`` into ``directory``, each file atomically, and return the files."""
    view = present(table, scale, measurements, claims, context)
    texts = {
        "measured.csv": measured_csv(table, scale, measurements),
        "claims.csv": claims_csv(claims),
        "TABLE.md": render_markdown(view),
        "table.tex": render_latex(view),
        "table.html": render_html(view),
        "environment.json": environment_json(table, scale, context),
    }
    for name, text in texts.items():
        write_atomically(directory / name, text)
    return [directory / name for name in texts]


def measured_csv(table: Table, scale: str, measurements: Mapping[Place, Measurement]) -> str:
    """Return one line per cell, in the order of the table, with numbers in full precision."""
    lines: list[Sequence[object]] = []
    for cell in table.cells(scale):
        measurement = measurements.get(cell.place, NOT_RUN)
        paper = table.paper_values.get(cell.place, _BLANK)
        seeds = measurement.seeds if measurement.value is not None else 0
        numbers = (_exact(measurement.value), _exact(measurement.spread), seeds, _exact(paper.value), _exact(paper.spread))
        lines.append((*cell.place, *numbers))
    return _csv(MEASURED_COLUMNS, lines)


def claims_csv(claims: Sequence[Claim]) -> str:
    return _csv(CLAIM_COLUMNS, ((claim.text, claim.verdict, claim.detail) for claim in claims))


def environment_json(table: Table, scale: str, context: Context) -> str:
    """Return where and how the numbers were made; ``publish`` reads minutes from here."""
    content = {
        "table": table.id,
        "scale": scale,
        "reduced": table.scale(scale).reduced,
        "reduction": table.scale(scale).note,
        "seeds": list(table.scale(scale).seeds),
        "command": context.command,
        "minutes": context.minutes,
        "notes": list(context.notes),
        "environment": dict(context.environment),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _csv(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return text.getvalue()


def _exact(value: float | None) -> str:
    return "" if value is None else repr(float(value))
