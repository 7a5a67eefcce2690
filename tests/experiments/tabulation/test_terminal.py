import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from experiments.tabulation.claims import Claim, judge_claims
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.presentation import Context
from experiments.tabulation.specification import Table, load_table
from experiments.tabulation.terminal import print_table

REAL = Path(__file__).parents[3] / "experiments" / "tables"


def printed(table: Table, measurements: Mapping[tuple[str, str], Measurement], context: Context, width: int) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    print_table(table, "quick", measurements, judge_claims(table, measurements), context, console)
    return stream.getvalue()


def test_no_escape_codes_without_a_terminal(
    table: Table, measurements: Mapping[tuple[str, str], Measurement], claims: list[Claim], context: Context,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    print_table(table, "quick", measurements, claims, context)
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "paper 95.10 ± 0.20" in text


def measured_as_printed(table: Table) -> dict[tuple[str, str], Measurement]:
    return {place: Measurement(paper.value, 0.1, 3, "measured") for place, paper in table.paper_values.items()}


def assert_no_number_is_broken(table: Table, text: str) -> None:
    """Each number stands whole between blanks or parentheses."""
    words = text.replace("(", " ").replace(")", " ").split()
    for cell in table.cells("quick"):
        printed_value = table.paper_values[cell.place]
        assert printed_value.text in words
        assert cell.metric.format(0.1) in words


@pytest.mark.parametrize("folder", ["ella_table1", "ella_table2"])
@pytest.mark.parametrize("width", [100, 120, 160])
def test_real_table_with_spreads_fits_with_no_number_broken(folder: str, width: int, context: Context) -> None:
    table = load_table(REAL / folder)
    text = printed(table, measured_as_printed(table), context, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert_no_number_is_broken(table, text)


def test_eight_columns_with_spreads_fit_100_columns(context: Context) -> None:
    table = load_table(REAL / "ella_table2")
    more = tuple(replace(column, label=f"Second {column.label}") for column in table.columns[1:3])
    values = {(row, f"Second {column}"): value for (row, column), value in table.paper_values.items()}
    wide = replace(table, columns=table.columns + more, paper_values={**values, **table.paper_values})
    text = printed(wide, measured_as_printed(wide), context, width=100)
    assert max(len(line) for line in text.splitlines()) <= 100
    assert_no_number_is_broken(wide, text)
    assert "the paper's in parentheses." in text


def test_text_columns_give_way_when_the_terminal_is_narrow(
    table: Table, measurements: Mapping[tuple[str, str], Measurement], context: Context
) -> None:
    assert "Prior" in printed(table, measurements, context, width=120)
    assert "Prior" not in printed(table, measurements, context, width=60)
