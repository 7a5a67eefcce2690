"""A table as GitHub-flavoured Markdown."""

import re

from experiments.tabulation.presentation import MARKS, VERDICTS, CellView, View


def render_markdown(view: View) -> str:
    """Return the whole page, with the scale and the notes above the table, footnotes, claims and environment below."""
    parts = [f"# {_escape(view.heading)}", _escape(view.caption), f"**{_escape(view.scale)}**"]
    if view.notes:
        parts.append("\n".join(f"- {_escape(note)}" for note in view.notes))
    parts += [_table(view), _escape(view.legend)]
    if view.footnotes:
        parts.append("\n".join(f"{number}. {_escape(text)}" for number, text in enumerate(view.footnotes, start=1)))
    parts += [f"![{_escape(name)}]({name})" for name in view.pictures]
    if view.claims:
        parts.append("## What the paper says, and what we measured")
        lines = [
            f"- {MARKS[claim.verdict]} {VERDICTS[claim.verdict]}: {_escape(claim.text)} ({_code(claim.detail)})"
            for claim in view.claims
        ]
        parts.append("\n".join(lines))
    parts += ["## Environment", "\n".join(f"- {_escape(key)}: {_code(text)}" for key, text in view.environment)]
    return "\n\n".join(parts) + "\n"


def _table(view: View) -> str:
    header = ["", *view.about_labels, *view.column_labels]
    lines = [[_escape(label) for label in header]]
    lines.append(["---"] * (1 + len(view.about_labels)) + ["---:"] * len(view.column_labels))
    for row in view.rows:
        lines.append([_escape(row.label), *(_escape(text) for text in row.about), *(_cell(cell) for cell in row.cells)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(cell: CellView) -> str:
    ours = cell.ours if cell.measured else f"*{cell.ours}*"
    markers = f"<sup>{','.join(str(marker) for marker in cell.markers)}</sup>" if cell.markers else ""
    paper = f" <sub>(paper {cell.paper})</sub>" if cell.paper else ""
    return ours + markers + paper


def _escape(text: str) -> str:
    escaped = re.sub(r"([\\`*_\[\]|~])", r"\\\1", text.replace("&", "&amp;"))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"
