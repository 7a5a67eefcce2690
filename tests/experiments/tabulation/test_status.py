import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.tabulation.status import count_cells, describe_state, describe_tables, read_outlines

SAMPLE = Path(__file__).parent / "sample"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path, render_sample: Callable[[Path], None]) -> Path:
    shutil.copytree(SAMPLE, tmp_path / "experiments" / "tables")
    results = tmp_path / "results" / "sample_table1" / "quick"
    results.mkdir(parents=True)
    render_sample(results)
    return tmp_path


def test_lists_command_title_and_state(project: Path) -> None:
    assert list(describe_tables(project)) == [
        "  make reproduce-sample-table1  Cats & dogs, 50% each",
        "                                quick 3/9 cells",
    ]


def test_published_results_are_marked(project: Path) -> None:
    shutil.copytree(project / "results", project / "docs" / "results")
    assert describe_state(project, "sample_table1") == "quick 3/9 cells, published"
    shutil.rmtree(project / "results")
    assert describe_state(project, "sample_table1") == "quick 3/9 cells, published"


def test_older_publication_shows_its_own_count(project: Path) -> None:
    published = project / "docs" / "results" / "sample_table1" / "quick"
    shutil.copytree(project / "results" / "sample_table1" / "quick", published)
    (published / "measured.csv").write_text("row,column,value\na,b,1\nc,d,\n", encoding="utf-8")
    assert describe_state(project, "sample_table1") == "quick 3/9 cells, published with 1"


def test_unmeasured_table(project: Path) -> None:
    assert describe_state(project, "other") == "not measured"
    assert count_cells(project / "nothing.csv") == (0, 0)


def test_no_tables_says_what_to_do(tmp_path: Path) -> None:
    assert list(describe_tables(tmp_path)) == ["  no tables yet: add a folder to experiments/tables"]


@pytest.mark.parametrize(
    ("line", "title"),
    [("title: Plain words", "Plain words"), ('title: "In: quotes"  # why', "In: quotes"), ("title: Words # why", "Words")],
)
def test_title_is_read_without_yaml(line: str, title: str, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "table.yaml").write_text(f"id: a\n{line}\nrows:\n  - title: no\n", encoding="utf-8")
    assert [outline.title for outline in read_outlines(tmp_path)] == [title]


def test_agrees_with_the_loader_on_every_real_table() -> None:
    from experiments.tabulation.specification import load_tables

    outlines = {outline.id: (outline.command, outline.title) for outline in read_outlines(ROOT / "experiments" / "tables")}
    tables = load_tables(ROOT / "experiments" / "tables")
    assert outlines == {table.id: (table.command, table.title) for table in tables.values()}


def test_runs_in_a_bare_interpreter(project: Path) -> None:
    script = ROOT / "experiments" / "tabulation" / "status.py"
    command = [sys.executable, "-I", "-S", "-W", "error", str(script), str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "make reproduce-sample-table1" in done.stdout
