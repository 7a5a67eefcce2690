"""A small table with awkward labels, and measurements of every state, shared by the tests and by regenerate_golden.py."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from experiments.tabulation.claims import Claim, judge_claims
from experiments.tabulation.measurement import Measurement, aggregate
from experiments.tabulation.presentation import Context
from experiments.tabulation.render import write_table
from experiments.tabulation.specification import Table, load_table
from experiments.tabulation.terminal import print_table

HERE = Path(__file__).parent
SAMPLE = HERE / "sample" / "sample_table1"
CATS, DOGS, PARAMETERS = "Cats_1 | <cats>", "Dogs & co", "# Params (M)"
CONTEXT = Context(
    command="make reproduce-sample-table1 SCALE=quick",
    minutes=12.345,
    notes=("stand-in data: toys replace 100% of the animals_set",),
    environment={
        "device": "cpu",
        "threads": "2",
        "commit": "0123abc",
        "date": "2026-01-02",
        "versions": "torch 2.0 & numpy",
    },
)


def make_measurements(table: Table) -> dict[tuple[str, str], Measurement]:
    """Measured with spread, partial, failed, running and missing cells."""
    cells = {cell.place: cell for cell in table.cells("quick")}
    records: dict[tuple[str, str], list[dict[str, float] | None]] = {
        (PARAMETERS, "FC"): [{"parameters": 1_523_000}, {"parameters": 1_523_000}],
        (CATS, "FC"): [{"test/accuracy": 0.9412}, {"test/accuracy": 0.9437}],
        (CATS, "CONV*"): [{"test/accuracy": 0.9912}, None],
        (DOGS, "FC"): [{"test/nll": 1.0}, None],
    }
    measurements = {place: aggregate(cells[place], metrics) for place, metrics in records.items()}
    measurements |= {place: Measurement.missing(cell.missing) for place, cell in cells.items() if cell.missing}
    measurements[DOGS, "CONV*"] = Measurement.running()
    return measurements


def render_golden(directory: Path) -> None:
    """Write every form of the sample table, the terminal's included, into ``directory``."""
    table = load_table(SAMPLE)
    measurements = make_measurements(table)
    claims = judge_claims(table, measurements)
    write_table(directory, table, "quick", measurements, claims, CONTEXT)
    stream = io.StringIO()
    print_table(table, "quick", measurements, claims, CONTEXT, Console(file=stream, width=100))
    text = "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
    (directory / "terminal.txt").write_text(text + "\n", encoding="utf-8")


@pytest.fixture
def table() -> Table:
    return load_table(SAMPLE)


@pytest.fixture
def measurements(table: Table) -> dict[tuple[str, str], Measurement]:
    return make_measurements(table)


@pytest.fixture
def claims(table: Table, measurements: dict[tuple[str, str], Measurement]) -> list[Claim]:
    return judge_claims(table, measurements)


@pytest.fixture
def context() -> Context:
    return CONTEXT


@pytest.fixture
def edited(tmp_path: Path) -> Callable[[str, str, str], Path]:
    """Return a copy of the sample folder in which one text of one file is replaced; the text must be there."""

    def edit(name: str, old: str, new: str) -> Path:
        folder = tmp_path / "edited_table"
        shutil.copytree(SAMPLE, folder)
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        return folder

    return edit


@pytest.fixture(scope="session")
def render_sample() -> Callable[[Path], None]:
    return render_golden
