import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.tabulation.publish import BEGIN, END, main, publish
from symlab.errors import TableError

SAMPLE = Path(__file__).parent / "sample"


@pytest.fixture
def project(tmp_path: Path, render_sample: Callable[[Path], None]) -> Path:
    """A project with one measured table (and a figure), and one that was never run."""
    shutil.copytree(SAMPLE, tmp_path / "experiments" / "tables")
    other = tmp_path / "experiments" / "tables" / "sample_table10"
    shutil.copytree(SAMPLE / "sample_table1", other)
    text = (other / "table.yaml").read_text(encoding="utf-8")
    text = text.replace("id: sample_table1", "id: sample_table10").replace('number: "1"', 'number: "10"')
    (other / "table.yaml").write_text(text, encoding="utf-8")
    results = tmp_path / "results" / "sample_table1" / "quick"
    results.mkdir(parents=True)
    render_sample(results)
    (results / "figure.png").write_bytes(b"png")
    (tmp_path / "README.md").write_text(f"# Head\n\n{BEGIN}\nold\n{END}\n\nTail\n", encoding="utf-8")
    return tmp_path


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def test_copies_what_is_published_and_nothing_else(project: Path) -> None:
    assert publish(project) == [project / "docs" / "results" / "sample_table1" / "quick"]
    names = {file.name for file in (project / "docs" / "results" / "sample_table1" / "quick").iterdir()}
    assert names == {"TABLE.md", "table.html", "measured.csv", "claims.csv", "environment.json", "figure.png"}


def test_readme_block_says_what_the_files_say(project: Path) -> None:
    publish(project)
    text = (project / "README.md").read_text(encoding="utf-8")
    title = "Cats & dogs, 50% each"
    assert text == (
        f"# Head\n\n{BEGIN}\n"
        "| table | title | command | scale | cells measured | claims held | minutes |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        f"| [sample_table1](docs/results/sample_table1/quick/TABLE.md) | {title} | `make reproduce-sample-table1` | quick "
        "| 3 / 9 | 2 / 3 (1 missing) | 12.3 |\n"
        f"| sample_table10 | {title} | `make reproduce-sample-table10` | not measured | 0 / 9 |  |  |\n"
        f"{END}\n\nTail\n"
    )


def test_index_links_are_files(project: Path) -> None:
    publish(project)
    index = (project / "docs" / "results" / "README.md").read_text(encoding="utf-8")
    assert "(sample_table1/quick/TABLE.md)" in index
    assert (project / "docs" / "results" / "sample_table1" / "quick" / "TABLE.md").exists()


def test_is_idempotent(project: Path) -> None:
    publish(project)
    before = snapshot(project)
    publish(project)
    assert snapshot(project) == before


def test_published_tables_stay_when_local_results_are_gone(project: Path) -> None:
    publish(project)
    before = snapshot(project / "docs")
    shutil.rmtree(project / "results")
    assert publish(project) == []
    assert snapshot(project / "docs") == before


def test_readme_shows_the_largest_scale_and_the_index_all(project: Path) -> None:
    shutil.copytree(project / "results" / "sample_table1" / "quick", project / "results" / "sample_table1" / "paper")
    publish(project)
    readme, index = ((project / name).read_text(encoding="utf-8") for name in ("README.md", "docs/results/README.md"))
    assert " SCALE=paper` | paper |" in readme
    assert "| quick |" not in readme
    assert "| paper |" in index
    assert "SCALE=quick" not in index  # what make takes by itself
    assert "| quick |" in index


def test_stale_figure_disappears_but_foreign_files_stay(project: Path) -> None:
    publish(project)
    published = project / "docs" / "results" / "sample_table1" / "quick"
    (published / "notes.txt").write_text("by hand", encoding="utf-8")
    (project / "results" / "sample_table1" / "quick" / "figure.png").unlink()
    publish(project)
    assert not (published / "figure.png").exists()
    assert (published / "notes.txt").exists()


def test_results_without_measured_cells_are_not_published(project: Path) -> None:
    file = project / "results" / "sample_table1" / "quick" / "measured.csv"
    file.write_text("row,column,value,spread,seeds,paper,paper_spread\na,b,,,0,1.0,\n", encoding="utf-8")
    assert publish(project) == []
    assert not (project / "docs" / "results" / "sample_table1").exists()


@pytest.mark.parametrize("readme", ["no markers", f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_readme_without_its_markers_is_named_before_anything_is_copied(readme: str, project: Path) -> None:
    (project / "README.md").write_text(readme, encoding="utf-8")
    with pytest.raises(TableError, match=r"README\.md: needs the lines"):
        publish(project)
    assert not (project / "docs").exists()


def test_damaged_environment_is_named(project: Path) -> None:
    (project / "results" / "sample_table1" / "quick" / "environment.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(TableError, match=r"environment\.json: is not a JSON object"):
        publish(project)


def test_unknown_minutes_are_left_empty(project: Path) -> None:
    file = project / "results" / "sample_table1" / "quick" / "environment.json"
    file.write_text(json.dumps({"minutes": None}), encoding="utf-8")
    publish(project)
    assert "| 2 / 3 (1 missing) |  |" in (project / "README.md").read_text(encoding="utf-8")


def test_command_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(project)]) == 0
    assert "published" in capsys.readouterr().out
    (project / "README.md").unlink()
    assert main(["--root", str(project)]) == 2
    assert "README.md: the file is missing" in capsys.readouterr().err
