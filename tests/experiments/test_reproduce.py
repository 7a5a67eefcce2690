"""Filling a table: only what is missing, never twice, others go on after a failure."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from experiments import reproduce as module
from experiments.reproduce import parse, reproduce
from symlab.errors import ConfigError, TableError
from tests.experiments.commands import start

TABLE = """
id: {id}
paper: {paper}
number: "1"
title: A small table
caption: Accuracy of small networks on digits.
overrides: [data=digits, data.train_size=64, "model.hidden=[4]", trainer.epochs={epochs}, tracking=off]
rows:
  - {{label: narrow, overrides: ["model.hidden=[4]"]}}
  - {{label: wide, overrides: ["model.hidden=[8]"]}}
columns:
  - {{label: accuracy, metric: test/accuracy, scale: 100, digits: 1, better: higher}}
  - {{label: later, metric: test/accuracy, missing: not part of this test}}
scales:
  smoke: {{seeds: [0, 1], note: small}}
  quick: {{seeds: [0], note: small}}
  paper: {{seeds: [0], note: small}}
"""


def write_table(folder: Path, epochs: int = 1, table_id: str = "tiny_table1", paper: str = "tiny") -> None:
    folder.mkdir(parents=True)
    (folder / "table.yaml").write_text(TABLE.format(id=table_id, epochs=epochs, paper=paper))
    (folder / "paper.csv").write_text("row,column,value,spread,note\nnarrow,accuracy,12.5,0.5,\n")
    (folder / "claims.yaml").write_text(
        "- claim: Wider is better.\n  holds: cell('wide', 'accuracy') > cell('narrow', 'accuracy')\n"
    )


@pytest.fixture
def tables(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "TABLES", tmp_path / "tables")
    write_table(tmp_path / "tables" / "first")
    return tmp_path / "tables"


def fill(*arguments: str) -> int:
    return reproduce(parse(["table=tiny_table1", "scale=smoke", "hardware.threads=1", *arguments]))


def measured() -> dict[tuple[str, str], dict[str, str]]:
    with open("results/tiny_table1/smoke/measured.csv", newline="") as file:
        return {(line["row"], line["column"]): line for line in csv.DictReader(file)}


def finish_times() -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in Path("runs").glob("*/record.json")}


def test_only_missing_runs_are_computed(tables: Path, capsys):
    assert fill() == 0
    cell = measured()[("narrow", "accuracy")]
    assert float(cell["value"]) > 0
    assert (cell["seeds"], cell["paper"], cell["paper_spread"]) == ("2", "12.5", "0.5")
    assert cell["spread"] != ""
    assert measured()[("wide", "later")]["value"] == ""
    before = finish_times()
    assert len(before) == 4
    assert fill() == 0
    assert finish_times() == before
    removed = sorted(before)[0]
    shutil.rmtree(Path("runs") / removed)
    assert fill() == 0
    after = finish_times()
    assert {key for key in after if after[key] != before[key]} == {removed}


def test_a_failed_run_is_reported_with_its_log_and_the_others_go_on(tables: Path, capsys):
    table = tables / "first" / "table.yaml"
    table.write_text(table.read_text().replace('"model.hidden=[8]"', "learner.learning_rate=1e30, trainer.epochs=5"))
    assert fill() == 1
    shown = capsys.readouterr().out
    assert "FAILED wide / accuracy / seed 0: loss became nan" in shown
    assert "log.txt" in shown
    assert measured()[("narrow", "accuracy")]["seeds"] == "2"
    assert measured()[("wide", "accuracy")]["value"] == ""


def test_cells_of_a_data_set_found_nowhere_are_missing_with_the_reason(tables: Path, tmp_path: Path, capsys):
    table = tables / "first" / "table.yaml"
    table.write_text(table.read_text().replace('["model.hidden=[8]"]', f"[data=isic2019, data.root={tmp_path}/nothing]"))
    assert fill() == 1
    assert "isic2019 cannot be had" in capsys.readouterr().out.replace("\n", " ")
    assert "missing: " in Path("results/tiny_table1/smoke/TABLE.md").read_text()


def test_a_plan_runs_nothing(tables: Path, capsys):
    assert fill("plan=true", "hardware.precision=float64") == 0
    shown = capsys.readouterr().out
    assert "4 runs, nothing is started" in shown
    assert str(64 * 4 + 4 + 4 * 10 + 10) in shown  # parameters of the narrow network
    assert not Path("runs").exists()
    assert not Path("results").exists()


def test_changes_on_the_command_line_are_noted_at_the_table(tables: Path):
    assert fill("trainer.batch_size=32") == 0
    notes = json.loads(Path("results/tiny_table1/smoke/environment.json").read_text())["notes"]
    assert notes == ["Changed on the command line: trainer.batch_size=32."]


def test_two_processes_never_compute_the_same_run(tables: Path, tmp_path: Path):
    """Both start at once; each run's log shows exactly one computation, and both end with the whole table."""
    (tables / "first" / "table.yaml").write_text(TABLE.format(id="tiny_table1", epochs=300, paper="tiny"))
    starter = tmp_path / "starter"
    starter.mkdir()
    (starter / "fill.py").write_text(
        "import sys\nfrom pathlib import Path\nfrom experiments import reproduce\n"
        f"reproduce.TABLES = Path({str(tables)!r})\n"
        "if __name__ == '__main__':\n"
        "    sys.exit(reproduce.reproduce(reproduce.parse(sys.argv[1:])))\n"
    )
    arguments = ("table=tiny_table1", "scale=smoke", "jobs=2", "hardware.threads=1", "execution.progress=lines")
    processes = [start(starter / "fill.py", *arguments, directory=tmp_path) for _ in range(2)]
    for process in processes:
        output, _ = process.communicate(timeout=240)
        assert process.returncode == 0, output
        assert "4 of 4 runs" in output
    logs = [path.read_text() for path in Path("runs").glob("*/log.txt")]
    assert len(logs) == 4
    assert [log.count("step 300/300") for log in logs] == [1] * 4
    owners = {json.loads(path.read_text())["pid"] for path in Path("runs").glob("*/owner.json")}
    assert len(owners) > 1


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["scale=smoke"], ConfigError, "table has no value: set table=<id>, one of tiny_table1"),
        (["table=tiny_table2"], TableError, "tiny_table1"),
        (["table=tiny_table1", "scale=huge"], TableError, "huge"),
        (["table=tiny_table1", "jobs=two"], ConfigError, "jobs='two' does not fit"),
        (["tiny_table1"], ConfigError, "key=value"),
    ],
)
def test_bad_requests_are_named(tables: Path, arguments: list[str], kind: type, message: str):
    with pytest.raises(kind, match=message):
        reproduce(parse(arguments))


def test_two_tables_with_the_same_id_are_refused(tables: Path):
    write_table(tables / "second", paper="other")
    with pytest.raises(TableError, match=r"first and .*second have the same id 'tiny_table1'"):
        fill()
