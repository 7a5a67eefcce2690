"""A table as one HTML file without scripts or links to elsewhere, readable on light and dark screens and on paper."""

from html import escape

from experiments.tabulation.presentation import MARKS, VERDICTS, CellView, View

_STYLE = """
:root { color-scheme: light dark; --soft: #5f6368; --line: #c8ccd0; --good: #1a7f37; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --soft: #9aa0a6; --line: #4a4e52; --good: #6fcf87; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scale { font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; border-top: 2px solid; border-bottom: 2px solid; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; vertical-align: top; }
th { border-bottom: 1px solid; vertical-align: bottom; }
tbody th { font-weight: 500; border-bottom: 0; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.text { text-align: left; }
.paper { display: block; color: var(--soft); font-size: .8rem; white-space: nowrap; }
.absent, .legend, .footnotes, .environment, .detail { color: var(--soft); }
.absent { font-style: italic; }
.legend, .footnotes, .environment { font-size: .85rem; }
.claims { list-style: none; padding: 0; } .claims .detail { display: block; font-size: .85rem; }
.true { color: var(--good); } .false { color: var(--bad); } .missing { color: var(--soft); }
sup { line-height: 0; }
img { max-width: 100%; background: white; }
"""


def render_html(view: View) -> str:
    """Return the page: scale and notes above the table, footnotes, claims and environment below."""
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(view.heading)}</title><style>{_STYLE}</style></head>",
        "<body>",
        f"<h1>{escape(view.heading)}</h1>",
        f"<p>{escape(view.caption)}</p>",
        f'<p class="scale">{escape(view.scale)}</p>',
    ]
    parts += _list("ul", "notes", [escape(note) for note in view.notes])
    parts += _table(view)
    parts.append(f'<p class="legend">{escape(view.legend)}</p>')
    parts += _list("ol", "footnotes", [escape(text) for text in view.footnotes])
    parts += [f'<p><img src="{escape(name)}" alt="{escape(name)}"></p>' for name in view.pictures]
    if view.claims:
        parts.append("<h2>What the paper says, and what we measured</h2>")
        claims = [
            f'<span class="{claim.verdict}">{MARKS[claim.verdict]} {VERDICTS[claim.verdict]}</span>: {escape(claim.text)}'
            f'<span class="detail">{escape(claim.detail)}</span>'
            for claim in view.claims
        ]
        parts += _list("ul", "claims", claims)
    parts.append("<h2>Environment</h2>")
    parts += _list("ul", "environment", [f"{escape(key)}: {escape(text)}" for key, text in view.environment])
    return "\n".join([*parts, "</body>", "</html>"]) + "\n"


def _table(view: View) -> list[str]:
    texts = "".join(f'<th class="text">{escape(label)}</th>' for label in ("", *view.about_labels))
    numbers = "".join(f"<th>{escape(label)}</th>" for label in view.column_labels)
    lines = ['<div class="wide"><table>', f"<thead><tr>{texts}{numbers}</tr></thead>", "<tbody>"]
    for row in view.rows:
        about = "".join(f'<td class="text">{escape(text)}</td>' for text in row.about)
        cells = "".join(_cell(cell) for cell in row.cells)
        lines.append(f'<tr><th class="text">{escape(row.label)}</th>{about}{cells}</tr>')
    return [*lines, "</tbody>", "</table></div>"]


def _cell(cell: CellView) -> str:
    ours = escape(cell.ours) if cell.measured else f'<span class="absent">{escape(cell.ours)}</span>'
    markers = f"<sup>{','.join(str(marker) for marker in cell.markers)}</sup>" if cell.markers else ""
    paper = f'<span class="paper">paper {escape(cell.paper)}</span>' if cell.paper else ""
    return f"<td>{ours}{markers}{paper}</td>"


def _list(tag: str, name: str, items: list[str]) -> list[str]:
    return [f'<{tag} class="{name}">', *(f"<li>{item}</li>" for item in items), f"</{tag}>"] if items else []
