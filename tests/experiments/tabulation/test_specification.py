import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.tabulation.specification import Line, Metric, Table, find_table, load_table, load_tables
from symlab.errors import TableError

CATS, DOGS, PARAMETERS = "Cats_1 | <cats>", "Dogs & co", "# Params (M)"
Edited = Callable[[str, str, str], Path]


def cell(table: Table, row: str, column: str, scale: str = "quick"):
    return next(cell for cell in table.cells(scale) if cell.place == (row, column))


def test_cells_are_all_places_row_by_row(table: Table) -> None:
    assert [cell.place for cell in table.cells("smoke")] == [
        (row, column) for row in (PARAMETERS, CATS, DOGS) for column in ("FC", "CONV*", "Laplace")
    ]


def test_overrides_of_a_cell_in_their_order(table: Table) -> None:
    assert cell(table, DOGS, "CONV*").overrides == (
        "data=animals", "model=conv", "data.animal=dog", "trainer.epochs=50", "model.depth=2", "model.width=5",
    )  # fmt: skip


def test_exception_wins_over_everything(table: Table) -> None:
    assert cell(table, DOGS, "FC", "smoke").overrides == (
        "data=animals",
        "model=fc",
        "data.animal=dog",
        "++trainer.epochs=7",
    )


def test_missing_cells_have_a_reason_and_no_overrides(table: Table) -> None:
    laplace, uncounted = cell(table, CATS, "Laplace"), cell(table, PARAMETERS, "CONV*")
    assert (laplace.overrides, laplace.missing) == (None, "no learner_for this")
    assert (uncounted.overrides, uncounted.missing) == (None, "not counted")


def test_exception_with_overrides_lets_a_missing_cell_run(edited: Edited) -> None:
    table = load_table(edited("table.yaml", "column: FC, overrides: [++trainer", "column: Laplace, overrides: [++trainer"))
    assert cell(table, DOGS, "Laplace").missing is None
    assert "++trainer.epochs=7" in (cell(table, DOGS, "Laplace").overrides or ())


def test_metric_of_the_row_replaces_that_of_the_column(table: Table) -> None:
    assert cell(table, PARAMETERS, "FC").metric == Metric("parameters", 1e-6, 1, None)
    assert cell(table, CATS, "FC").metric == Metric("test/accuracy", 100.0, 2, "higher")


def test_single_metric_field_of_a_row_keeps_the_rest_of_the_column(edited: Edited) -> None:
    table = load_table(edited("table.yaml", "overrides: [data.animal=cat],", "overrides: [data.animal=cat], digits: 5,"))
    assert cell(table, CATS, "FC").metric == Metric("test/accuracy", 100.0, 5, "higher")


def test_row_in_a_metric_is_the_label_of_the_row(edited: Edited) -> None:
    table = load_table(edited("table.yaml", "metric: test/nll,", "metric: 'layer/{row}/nll',"))
    assert cell(table, DOGS, "Laplace").metric.key == f"layer/{DOGS}/nll"


def test_words_stand_for_numbers_from_0_on(edited: Edited) -> None:
    folder = edited("table.yaml", "metric: test/nll,", "metric: test/nll, words: [flat, round],")
    paper = folder / "paper.csv"
    paper.write_text(paper.read_text(encoding="utf-8") + f"{DOGS},Laplace,round,,\n", encoding="utf-8")
    table = load_table(folder)
    printed, metric = table.paper_values[DOGS, "Laplace"], cell(table, DOGS, "Laplace").metric
    assert (printed.value, printed.text) == (1.0, "round")
    assert [metric.format(value) for value in (0.0, 1.0, 2.0)] == ["flat", "round", f"{2:.{metric.digits}f}"]
    assert metric.format(0.5) == f"{0.5:.{metric.digits}f}"  # seeds that disagree


INSPECTION = """
id: inspection_table2
paper: sample
number: "2"
title: One run, looked at closely
caption: What one run of the first table learned.
same_run_as: {table: sample_table1, row: Dogs & co, column: CONV*}
rows: [{label: "0"}, {label: "1"}]
columns: [{label: norm, metric: "norm/{row}"}]
"""


@pytest.fixture
def inspection(table: Table, tmp_path: Path) -> Path:
    """A folder of two tables, of which the second looks at a run of the first."""
    shutil.copytree(table.folder, tmp_path / "sample_table1")
    folder = tmp_path / "inspection_table2"
    folder.mkdir()
    (folder / "table.yaml").write_text(INSPECTION, encoding="utf-8")
    (folder / "paper.csv").write_text("row,column,value,spread,note\n0,norm,1.0,,\n", encoding="utf-8")
    (folder / "claims.yaml").write_text("- {claim: One is larger., holds: \"cell('1', 'norm') > 0\"}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_a_table_of_one_run_has_the_run_of_the_other_table(scale: str, inspection: Path, table: Table) -> None:
    theirs = cell(table, DOGS, "CONV*", scale)
    cells = load_table(inspection).cells(scale)
    assert {(each.overrides, each.seeds) for each in cells} == {(theirs.overrides, theirs.seeds)}
    assert [each.metric.key for each in cells] == ["norm/0", "norm/1"]
    assert "sample_table1" in load_table(inspection).scale(scale).note


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("table: sample_table1", "table: sample_table9", "same_run_as.table: 'sample_table9' is no other table"),
        ("table: sample_table1", "table: inspection_table2", "same_run_as.table: 'inspection_table2' is no other table"),
        ("row: Dogs & co", "row: Dogs", "same_run_as.row: unknown row 'Dogs'"),
        (
            "column: CONV*",
            "column: Laplace",
            "same_run_as.row: the cell ('Dogs & co', 'Laplace') of sample_table1 has no run",
        ),
        ("rows:", "overrides: [a=1]\nrows:", "overrides: is decided by same_run_as"),
    ],
)
def test_a_table_of_a_run_that_is_not_there_says_so(old: str, new: str, message: str, inspection: Path) -> None:
    file = inspection / "table.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(TableError) as caught:
        load_table(inspection)
    assert message in str(caught.value)


def test_a_scale_may_leave_a_row_or_a_column_out(edited: Edited) -> None:
    table = load_table(edited("table.yaml", "  quick:\n", f"  quick:\n    missing: {{{DOGS!r}: too dear}}\n"))
    assert (cell(table, DOGS, "FC").overrides, cell(table, DOGS, "FC").missing) == (None, "too dear")
    assert cell(table, CATS, "FC").overrides
    assert cell(table, DOGS, "FC", "paper").overrides


def test_a_scale_may_leave_single_cells_of_a_row_out(edited: Edited) -> None:
    table = load_table(edited("table.yaml", "  quick:\n", f"  quick:\n    missing: {{{DOGS!r}: {{FC: too dear}}}}\n"))
    assert (cell(table, DOGS, "FC").overrides, cell(table, DOGS, "FC").missing) == (None, "too dear")
    assert cell(table, DOGS, "CONV*").overrides
    assert cell(table, CATS, "FC").overrides
    assert cell(table, DOGS, "FC", "paper").overrides


@pytest.mark.parametrize("missing", ["Birds: too dear", f"{DOGS!r}: {{Birds: too dear}}", f"FC: {{{DOGS!r}: Birds}}"])
def test_what_a_scale_leaves_out_must_exist(missing: str, edited: Edited) -> None:
    folder = edited("table.yaml", "  quick:\n", f"  quick:\n    missing: {{{missing}}}\n")
    with pytest.raises(TableError, match="Birds"):
        load_table(folder)


def test_a_row_may_name_the_metric_and_a_column_its_digits(table: Table) -> None:
    row, column = Line("r", metric={"key": "test/error", "scale": 100.0}), Line("c", metric={"digits": 1})
    assert table.metric(row, column) == Metric("test/error", 100.0, 1)


def test_seeds_come_from_the_scale(table: Table) -> None:
    assert {cell.seeds for cell in table.cells("paper")} == {(0, 1, 2)}


def test_paper_values_keep_their_printed_digits(table: Table) -> None:
    printed = table.paper_values[CATS, "FC"]
    assert (printed.value, printed.text, printed.spread) == (95.1, "95.10", 0.2)
    assert table.paper_values[DOGS, "FC"].value is None


def test_unknown_scale_lists_those_that_exist(table: Table) -> None:
    with pytest.raises(TableError, match=r"'cpu'; there are: smoke, quick, paper$"):
        table.cells("cpu")


def test_unknown_table_suggests_the_closest(table: Table) -> None:
    with pytest.raises(TableError, match=r"no table 'sample_tabel1'; did you mean 'sample_table1'\?$"):
        find_table({table.id: table}, "sample_tabel1")


def test_tables_are_found_by_their_id(table: Table) -> None:
    assert list(load_tables(table.folder.parent)) == ["sample_table1"]


@pytest.mark.parametrize("same", ["id", "command"])
def test_two_tables_that_share_a_name_are_both_named(same: str, table: Table, tmp_path: Path) -> None:
    for folder in ("first", "second"):
        shutil.copytree(table.folder, tmp_path / folder)
    if same == "command":
        file = tmp_path / "second" / "table.yaml"
        file.write_text(file.read_text(encoding="utf-8").replace("id: sample_table1", "id: other"), encoding="utf-8")
    with pytest.raises(TableError, match=f"first and .*second have the same {same}"):
        load_tables(tmp_path)


ERRORS = [
    ("table.yaml", "title:", "titel:", "table.yaml: titel: unknown key; did you mean 'title'?"),
    ("table.yaml", "title: Cats & dogs, 50% each\n", "", "table.yaml: title: is missing"),
    ("table.yaml", 'number: "1"', "number: 1", "table.yaml: number: must be text, not 1"),
    ("table.yaml", "id: sample_table1", "id: ../escape", "table.yaml: id: must consist of"),
    ("table.yaml", "title: Cats", "title: [Cats", "table.yaml: not valid YAML in line"),
    ("table.yaml", "paper: sample", "paper: sample\npaper: other", "table.yaml: not valid YAML in line 3: the key 'paper'"),
    ("table.yaml", "digits: 2, better", "digits: two, better", "table.yaml: columns[0].digits: must be a whole number"),
    ("table.yaml", "scale: 1e-6", "scale: small", "table.yaml: rows[0].scale: must be a number, not 'small'"),
    (
        "table.yaml",
        "better: lower",
        "better: smaller",
        "table.yaml: columns[2].better: must be one of higher, lower or null",
    ),
    ("table.yaml", "[data=animals,", "[data animals,", "table.yaml: overrides: each entry must be an override"),
    ("table.yaml", "[data=animals,", "[{data: animals},", "table.yaml: overrides: each entry must be an override"),
    ("table.yaml", "label: CONV*,", "label: FC,", "table.yaml: columns[1].label: 'FC' occurs twice"),
    ("table.yaml", "about: {Prior: θ}", "about: {Prior: 3}", "table.yaml: rows[1].about.Prior: must be text, not 3"),
    (
        "table.yaml",
        "metric: test/nll, ",
        "",
        "table.yaml: metric: is missing in both row 'Cats_1 | <cats>' and column 'Laplace'",
    ),
    (
        "table.yaml",
        "{row: Dogs & co,",
        "{row: Dog & co,",
        "table.yaml: exceptions[0].row: unknown row 'Dog & co'; did you mean",
    ),
    ("table.yaml", "missing: not counted", "missing: no, overrides: []", "table.yaml: exceptions[1].overrides: give either"),
    (
        "table.yaml",
        '- {row: "# Params (M)", column: CONV*, missing',
        "- {row: Dogs & co, column: FC, missing",
        "table.yaml: exceptions[1].row: the cell ('Dogs & co', 'FC') already has an exception",
    ),
    (
        "table.yaml",
        "metric: test/nll,",
        "words: [1, 2], metric: x,",
        "table.yaml: columns[2].words: each entry must be text",
    ),
    ("table.yaml", "smoke: {", "smok: {", "table.yaml: scales.smok: unknown key; did you mean 'smoke'?"),
    ("table.yaml", "  paper: {seeds", "  cpu: {note: x, seeds", "table.yaml: scales.paper: is missing"),
    ("table.yaml", "seeds: [0, 1]", "seeds: [0, 0]", "table.yaml: scales.quick.seeds: a seed occurs twice"),
    ("table.yaml", "seeds: [0, 1]", "seeds: []", "table.yaml: scales.quick.seeds: must be a list"),
    ("table.yaml", "rows: {Dogs & co:", "rows: {Dogs:", "table.yaml: scales.quick.rows.Dogs: unknown row 'Dogs'"),
    ("table.yaml", ", note: 1 epoch", "", "table.yaml: scales.smoke.note: is missing"),
    ("table.yaml", "exceptions:\n", "exceptions: 3\nunused:\n", "table.yaml: unused: unknown key"),
    ("paper.csv", "row,column", "rows,column", "paper.csv: line 1 must be row,column,value,spread,note"),
    ("paper.csv", "# Params (M),FC", "# Param (M),FC", "paper.csv: line 2: unknown row '# Param (M)'; did you mean"),
    ("paper.csv", "# Params (M),FC", "# Params (M),Foo", "paper.csv: line 2: unknown column 'Foo'; known are: 'FC'"),
    ("paper.csv", "95.10", "about 95", "paper.csv: line 3: value must be a number or empty, not 'about 95'"),
    ("paper.csv", "0.20", "±0.20", "paper.csv: line 3: spread must be a number or empty, not '±0.20'"),
    ("paper.csv", "1.5,,", "1.5,", "paper.csv: line 2 has 4 fields, not 5"),
    (
        "paper.csv",
        "Cats_1 | <cats>,CONV*",
        "Cats_1 | <cats>,FC",
        "paper.csv: line 4: the cell ('Cats_1 | <cats>', 'FC') occurs twice",
    ),
    ("claims.yaml", "- claim: CONV* beats", "claim: CONV* beats", "claims.yaml: not valid YAML in line"),
    ("claims.yaml", "holds: cell", "hold: cell", "claims.yaml: [0].hold: unknown key; did you mean 'holds'?"),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), ERRORS)
def test_error_is_one_line_that_names_file_and_key(name: str, old: str, new: str, message: str, edited: Edited) -> None:
    with pytest.raises(TableError) as caught:
        load_table(edited(name, old, new))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["table.yaml", "paper.csv", "claims.yaml"])
@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b""])
def test_missing_binary_or_empty_file_is_named(name: str, content: bytes | None, edited: Edited) -> None:
    folder = edited(name, "a", "a")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(TableError, match=name) as caught:
        load_table(folder)
    assert "\n" not in str(caught.value)


def test_package_does_not_import_torch_or_hydra() -> None:
    modules = "publish, terminal, specification, status"
    code = (
        f"import sys; from experiments.tabulation import {modules}; print({{'torch', 'hydra', 'pandas'}} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.strip() == "set()"
