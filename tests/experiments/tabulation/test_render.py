"""The contract of the CSV files, and properties every rendered form must have beyond its golden file."""

import csv
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.tabulation.claims import Claim
from experiments.tabulation.files import write_atomically
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.presentation import Context, format_minutes, present
from experiments.tabulation.render import claims_csv, environment_json, measured_csv, write_table
from experiments.tabulation.render_html import render_html
from experiments.tabulation.render_latex import escape, render_latex
from experiments.tabulation.render_markdown import render_markdown
from experiments.tabulation.specification import Table
from experiments.tabulation.table import SCALES
from symlab.errors import TableError

Measurements = Mapping[tuple[str, str], Measurement]
CATS = "Cats_1 | <cats>"


def test_measured_csv_has_exactly_its_columns_and_one_line_per_cell(table: Table, measurements: Measurements) -> None:
    lines = list(csv.reader(measured_csv(table, "quick", measurements).splitlines()))
    assert lines[0] == ["row", "column", "value", "spread", "seeds", "paper", "paper_spread"]
    assert [tuple(line[:2]) for line in lines[1:]] == [cell.place for cell in table.cells("quick")]


def test_measured_csv_keeps_every_digit_and_leaves_missing_cells_empty(table: Table, measurements: Measurements) -> None:
    lines = list(csv.DictReader(measured_csv(table, "quick", measurements).splitlines()))
    by_place = {(line["row"], line["column"]): line for line in lines}
    assert float(by_place[CATS, "FC"]["value"]) == measurements[CATS, "FC"].value
    assert float(by_place[CATS, "FC"]["spread"]) == measurements[CATS, "FC"].spread
    for place, line in by_place.items():
        measured = measurements[place].value is not None
        assert (line["value"] != "", int(line["seeds"]) > 0) == (measured, measured)


def test_cell_without_measurement_is_missing(table: Table, context: Context) -> None:
    assert all(line["seeds"] == "0" for line in csv.DictReader(measured_csv(table, "quick", {}).splitlines()))
    view = present(table, "quick", {}, [], context)
    assert {cell.ours for row in view.rows for cell in row.cells} == {"missing"}
    assert "missing: it has not been run" in view.footnotes


def test_claims_csv_writes_one_word_per_verdict() -> None:
    claims = [Claim("a, b", True, 'x "y"'), Claim("c", False, "1 > 2"), Claim("d", None, "not measured")]
    lines = list(csv.reader(claims_csv(claims).splitlines()))
    assert lines == [
        ["claim", "holds", "detail"],
        ["a, b", "true", 'x "y"'],
        ["c", "false", "1 > 2"],
        ["d", "missing", "not measured"],
    ]


def test_environment_names_the_reduction(table: Table, context: Context) -> None:
    quick, paper = (json.loads(environment_json(table, scale, context)) for scale in ("quick", "paper"))
    assert (quick["reduced"], quick["reduction"], quick["minutes"]) == (True, "width 4 instead of 64.", 12.345)
    assert (paper["reduced"], paper["seeds"]) == (False, [0, 1, 2])


@pytest.mark.parametrize(
    ("scale", "expected"), [("smoke", "Reduced scale 'smoke': 1 epoch. Seed: 0."), ("paper", "own budget")]
)
def test_scale_is_stated(scale: str, expected: str, table: Table, context: Context) -> None:
    view = present(table, scale, {}, [], context)
    for text in (render_markdown(view), render_html(view), render_latex(view)):
        assert expected.replace("'", "&#x27;" if text.startswith("<!doctype") else "'") in text


def test_arrow_only_where_all_rows_agree(table: Table, context: Context) -> None:
    assert present(table, "quick", {}, [], context).column_labels == ("FC", "CONV*", "Laplace")
    without_parameters = Table(**{**vars(table), "rows": table.rows[1:]})
    assert present(without_parameters, "quick", {}, [], context).column_labels == ("FC (↑)", "CONV* (↑)", "Laplace (↓)")


def test_markdown_table_has_the_same_number_of_cells_in_each_line(
    table: Table, measurements: Measurements, claims: list[Claim], context: Context
) -> None:
    text = render_markdown(present(table, "quick", measurements, claims, context))
    counts = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")}
    assert counts == {7}


def test_latex_is_balanced_and_escaped(
    table: Table, measurements: Measurements, claims: list[Claim], context: Context
) -> None:
    text = render_latex(present(table, "quick", measurements, claims, context))
    bare = re.sub(r"\\[\\{}$&#%_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert re.findall(r"\\begin{(\w+)}", text) == ["table", "tabular", "minipage"]
    assert re.findall(r"\\end{(\w+)}", text) == ["tabular", "minipage", "table"]
    body = text.split(r"\toprule")[1].split(r"\bottomrule")[0]
    lines = [line for line in body.splitlines() if line.endswith(r" \\")]
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [5] * 4
    assert not re.search(r"[#%_^~]", re.sub(r"\\[#%_]|^%.*$", "", bare, flags=re.MULTILINE))


def test_latex_escapes_every_special_character() -> None:
    specials = r"\{}$&#%_^~"
    assert escape("a\\b") == r"a\textbackslash{}b"
    assert all(escape(character) != character for character in specials)
    assert escape("θ ± 1") == r"$\theta$ $\pm$ 1"


class Balance(HTMLParser):
    """Collects what a browser would have to repair or to fetch."""

    void = frozenset({"meta"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.void:
            self.open.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_balanced_and_self_contained(
    table: Table, measurements: Measurements, claims: list[Claim], context: Context
) -> None:
    text = render_html(present(table, "quick", measurements, claims, context))
    balance = Balance()
    balance.feed(text)
    assert (balance.open, balance.fetched) == ([], [])
    assert "<cats>" not in text
    assert "<script" not in text
    assert "http" not in text


def test_writing_twice_gives_the_same_files_and_leaves_no_temporary_ones(
    table: Table, measurements: Measurements, claims: list[Claim], context: Context, tmp_path: Path
) -> None:
    files = write_table(tmp_path / "out", table, "quick", measurements, claims, context)
    first = {file: file.read_bytes() for file in files}
    write_table(tmp_path / "out", table, "quick", measurements, claims, context)
    assert {file: file.read_bytes() for file in (tmp_path / "out").iterdir()} == first


def test_a_full_disk_is_a_line_that_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(TableError, match=r"TABLE\.md: cannot be written: No space left on device"):
        write_atomically(tmp_path / "TABLE.md", "content")
    assert not list(tmp_path.iterdir())


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomically(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "new \ud800")
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("a.txt", "old")]


@pytest.mark.parametrize(("minutes", "shown"), [(12.345, "12.3"), (0.05678, "0.057"), (0.0, "0"), (600.0, "600.0")])
def test_minutes(minutes: float, shown: str) -> None:
    assert format_minutes(minutes) == shown


def test_scale_names_are_those_of_the_status_list() -> None:
    from experiments.tabulation import status

    assert status.SCALES == SCALES
