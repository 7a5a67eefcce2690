r"""A table as a LaTeX float to ``\input``; it needs the package booktabs and nothing else."""

from experiments.tabulation.presentation import VERDICTS, CellView, View

_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",  # \textquotedbl needs the T1 encoding
    "[": "{[}",  # after a line break in a tabular a bare bracket is read as its optional argument
    "]": "{]}",
    "*": "{*}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "α": r"$\alpha$",
    "σ": r"$\sigma$",
    "θ": r"$\theta$",
    "η": r"$\eta$",
    "ω": r"$\omega$",
}


def render_latex(view: View) -> str:
    """Return the float: caption with scale and notes, the tabular, then footnotes, claims and environment in small print."""
    columns = "l" * (1 + len(view.about_labels)) + "r" * len(view.column_labels)
    header = ["", *view.about_labels, *view.column_labels]
    caption = [text.rstrip(".") + "." for text in (view.heading, view.caption, view.scale, *view.notes, view.legend)]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\caption{" + escape(" ".join(caption)) + "}",
        r"\small",
        r"\begin{tabular}{" + columns + "}",
        r"\toprule",
        " & ".join(escape(label) for label in header) + r" \\",
        r"\midrule",
    ]
    for row in view.rows:
        texts = [escape(row.label), *(escape(text) for text in row.about), *(_cell(cell) for cell in row.cells)]
        lines.append(" & ".join(texts) + r" \\")
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\medskip",
        r"\begin{minipage}{\linewidth}",
        r"\footnotesize\raggedright",
    ]
    lines += [_superscript(number) + " " + escape(text) + r"\par" for number, text in enumerate(view.footnotes, start=1)]
    for claim in view.claims:
        lines.append(r"\textit{" + VERDICTS[claim.verdict] + ":} " + escape(f"{claim.text} ({claim.detail})") + r"\par")
    lines.append(escape("; ".join(f"{key}: {text}" for key, text in view.environment)) + r"\par")
    lines += [r"\end{minipage}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return ``text`` with every character that means something to LaTeX made literal."""
    return "".join(_CHARACTERS.get(character, character) for character in text)


def _cell(cell: CellView) -> str:
    ours = escape(cell.ours) if cell.measured else r"\textit{" + escape(cell.ours) + "}"
    markers = _superscript(*cell.markers) if cell.markers else ""
    paper = r" {\scriptsize(" + escape(cell.paper) + ")}" if cell.paper else ""
    return ours + markers + paper


def _superscript(*numbers: int) -> str:
    return r"\textsuperscript{" + ",".join(str(number) for number in numbers) + "}"
