from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.tabulation.claims import Claim, judge_claims, load_statements
from experiments.tabulation.evaluation import evaluate
from experiments.tabulation.expression import ExpressionError, Scope, Truth, parse
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.specification import Table, load_table
from symlab.errors import TableError

MEASURED = {("a", "x"): 1.0, ("b", "x"): 2.5, ("a", "y"): -3.0}


def judge(source: str) -> Truth:
    spreads = {("a", "x"): 0.2}
    scope = Scope(["a", "b"], ["x", "y"], {("a", "x"): 1.5}, MEASURED, lambda place, value: f"{value:.1f}", spreads=spreads)
    return evaluate(parse(source), scope)


@pytest.mark.parametrize(
    ("source", "holds", "detail"),
    [
        ("cell('a', 'x') < cell('b', 'x')", True, "1.0 < 2.5"),
        ("cell('a', 'x') > cell('b', 'x')", False, "1.0 > 2.5"),
        ("0 <= cell('a', 'x') < cell('b', 'x') < 3", True, "0 <= 1.0 < 2.5 < 3"),
        ("0 < cell('a', 'y') < 3", False, "0 < -3.0 < 3"),
        ("cell('a', 'x') == 1 and cell('b', 'x') != 1", True, "1.0 == 1 and 2.5 != 1"),
        ("cell('a', 'x') > 1 or cell('b', 'x') >= 2.5", True, "1.0 > 1 or 2.5 >= 2.5"),
        ("cell('a', 'x') <= 1 and 1 >= cell('a', 'x')", True, "1.0 <= 1 and 1 >= 1.0"),
        ("cell('a', 'x') < 1 or 1 > cell('a', 'x')", False, "1.0 < 1 or 1 > 1.0"),
        ("not cell('a', 'x') > 1", True, "not (1.0 > 1)"),
        ("cell('b', 'x') - paper('a', 'x') * 2 < -cell('a', 'y') / 2", True, "2.5 - (1.5 * 2) < --3.0 / 2"),
        ("abs(cell('a', 'y')) == 3", True, "abs(-3.0) == 3"),
        ("cell('a', 'x') + spread('a', 'x') < 1.3", True, "1.0 + 0.2 < 1.3"),
        ("mean(cell('a', 'x'), cell('b', 'x')) == 1.75", True, "mean(1.0, 2.5) == 1.75"),
        ("max([cell(r, 'x') for r in rows()]) == 2.5", True, "max(1.0, 2.5) == 2.5"),
        ("min(cell('a', c) for c in columns()) < 0", True, "min(1.0, -3.0) < 0"),
        ("all(cell(r, 'x') > 2 for r in rows())", False, "1.0 > 2 and 2.5 > 2"),
        ("any(cell(r, 'x') > 2 for r in ['a', 'b'])", True, "1.0 > 2 or 2.5 > 2"),
        ("all(cell(r, 'x') > 2 for r in rows() if r != 'a')", True, "2.5 > 2"),
        ("count(cell(r, 'x') > 2 for r in rows()) == 1", True, "count(1.0 > 2, 2.5 > 2) == 1"),
        ("count([cell('a', 'x') > 2, cell('b', 'x') > 2]) > 1", False, "count(1.0 > 2, 2.5 > 2) > 1"),
        ("any(cell(r, c) < 0 for r in ['a'] for c in columns())", True, "1.0 < 0 or -3.0 < 0"),
    ],
)
def test_expression(source: str, holds: bool, detail: str) -> None:
    assert judge(source) == Truth(holds, detail)


def test_detail_shows_more_digits_where_rounding_hides_the_difference() -> None:
    scope = Scope(["a"], ["x", "y"], {}, {("a", "x"): 1.04, ("a", "y"): 1.01}, lambda place, value: f"{value:.1f}")
    assert evaluate(parse("cell('a', 'x') > cell('a', 'y')"), scope) == Truth(True, "1.04 > 1.01")


@pytest.mark.parametrize(
    "source",
    ["cell('b', 'y') > 0 and cell('a', 'x') > 5", "cell('a', 'x') > 0 or cell('b', 'y') > 0", "not cell('b', 'y') + 1 > 0",
     "all(cell('b', c) > 9 for c in columns())", "max(cell('b', 'y'), 100) > 1", "-abs(cell('b', 'y')) < 1"],
)  # fmt: skip
def test_a_missing_cell_leaves_the_claim_undecided_whatever_the_rest_says(source: str) -> None:
    assert judge(source).value is None


HOSTILE = [
    "__import__('os').system('true') == 0",
    "cell.__class__ == 1",
    "().__class__.__bases__[0] == 1",
    "cell('a', 'x').__class__ == 1",
    "open('/etc/passwd') == 1",
    "eval('1') == 1",
    "(lambda: 1)() == 1",
    "[x for x in ().__class__.__mro__] == 1",
    "f'{cell}' == 'a'",
    "9 ** 9 ** 9 > 1",
    "'a' * 999999999 == 'b'",
    "1 << 99999 > 1",
    "rows()[0] == 'a'",
    "(x := 1) == 1",
    "1 if cell('a', 'x') > 0 else 2",
    "{'a': 1} == 1",
    "cell(*['a', 'x']) > 1",
    "cell(row='a', column='x') > 1",
    "'a' in rows()",
    "True",
    "...",
    "1j > 1",
    "all(0 < 1 for a.b in rows())",
    "all(0 < 1 for r in rows() if cell(r, 'y') > 0)",
    "print(1) == 1",
    "-" * 1500 + "1 > 0",
    "(" * 1500 + "1" + ")" * 1500,
    "1" * 1000 + " > 1",
    "cell('a', 'x') > 1; 2",
    "import os",
    "1 / 0 > 1",
    "cell('a', 'x')",
    "'a'",
    "cell('a') > 1",
    "cell('a', 'x') > 'a'",
    "cell('a', 'x') and 1",
    "cell(1, 'x') > 1",
    "max([]) > 1",
    "all([]) ",
    "all(r for r in rows())",
    "r > 1",
    "'\\d' == 'd'",
    "",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_expression_outside_the_language_is_refused_when_loaded(source: str, tmp_path: Path) -> None:
    quoted = source.replace("'", "''")
    (tmp_path / "claims.yaml").write_text(f"- claim: A sentence.\n  holds: '{quoted}'\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"claims\.yaml: (claim 'A sentence\.'|\[0\]\.holds): ") as caught:
        load_statements(tmp_path / "claims.yaml", ["a", "b"], ["x", "y"], {("a", "x"): 1.5})
    assert "\n" not in str(caught.value)
    assert ("unknown row" in str(caught.value)) == (source == "cell(1, 'x') > 1")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("cell('Cat', 'FC') > 1", "unknown row 'Cat'; "),
        ("cell('Dogs & co', 'FCC') > 1", "unknown column 'FCC'; did you mean 'FC'?"),
        ("1 > 2 and cell('Dogs', 'FC') > 1", "unknown row 'Dogs'; did you mean 'Dogs & co'?"),
        (
            "any(cell(r, 'FC') > 1 for r in ['Dogs & co', 'Doggs & co'])",
            "unknown row 'Doggs & co'; did you mean 'Dogs & co'?",
        ),
        ("paper('Dogs & co', 'FC') > 1", "the paper prints no number in the cell ('Dogs & co', 'FC')"),
        ("cell(Dogs, 'FC') > 1", "unknown name 'Dogs'; labels are written in quotes"),
    ],
)
def test_wrong_label_is_found_when_loaded(source: str, message: str, edited: Callable[[str, str, str], Path]) -> None:
    folder = edited("claims.yaml", "cell('Cats_1 | <cats>', 'CONV*') > cell('Cats_1 | <cats>', 'FC')", source)
    with pytest.raises(TableError) as caught:
        load_table(folder)
    assert "claims.yaml: claim 'CONV* beats FC on cats.': " + message in str(caught.value)


def test_claims_of_the_sample(claims: list[Claim]) -> None:
    assert claims == [
        Claim("CONV* beats FC on cats.", True, "99.12 > 94.25"),
        Claim("CONV* stays within 1% of the paper.", True, "abs(99.12 - 99.38) < 1"),
        Claim("Laplace_is good.", None, "not measured: Cats_1 | <cats> / Laplace; Dogs & co / CONV*"),
    ]
    assert [claim.verdict for claim in claims] == ["true", "true", "missing"]


def test_false_claim(table: Table) -> None:
    numbers = {("Cats_1 | <cats>", "CONV*"): 50.0, ("Cats_1 | <cats>", "FC"): 60.0}
    measurements = {place: Measurement(value, None, 1, "measured") for place, value in numbers.items()}
    first = judge_claims(table, measurements)[0]
    assert (first.holds, first.verdict, first.detail) == (False, "false", "50.00 > 60.00")


def test_division_by_a_measured_zero_leaves_the_claim_undecided(edited: Callable[[str, str, str], Path]) -> None:
    source = "cell('Dogs & co', 'CONV*') / cell('Dogs & co', 'FC') > 1"
    table = load_table(edited("claims.yaml", "cell('Cats_1 | <cats>', 'CONV*') > cell('Cats_1 | <cats>', 'FC')", source))
    places = [("Dogs & co", "CONV*"), ("Dogs & co", "FC")]
    first = judge_claims(table, {place: Measurement(0.0, None, 1, "measured") for place in places})[0]
    assert first.holds is None
    assert "division by zero" in first.detail


def test_too_long_expression_is_refused() -> None:
    with pytest.raises(ExpressionError, match="longer than 2000"):
        parse("1 < 2 and " * 300 + "1 < 2")


def test_filter_on_cells_is_refused_by_name() -> None:
    with pytest.raises(ExpressionError, match="may compare labels only"):
        judge("all(cell(r, 'x') > 0 for r in rows() if cell(r, 'y') > 0)")
