import pytest

from experiments.composition import compose_run
from experiments.reproduce import TABLES
from experiments.table_runs import TableRuns
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.specification import load_tables
from symlab.errors import ConfigError

ROWS = ("# Params (M)", "Strict symmetry (digit)", "Partial symmetry (digit, quadrant)")
PARAMETERS, STRICT, PARTIAL = ROWS


@pytest.fixture(scope="module")
def runs() -> TableRuns:
    return TableRuns(load_tables(TABLES)["ella_table1"], "smoke")


def record(accuracy: float) -> dict:
    return {"metrics": {"test/accuracy": accuracy, "parameters": 1000.0}}


def test_cells_that_need_the_same_run_share_it(runs: TableRuns):
    assert len(runs.runs) == 10  # two tasks, five columns; the parameter counts come from the runs of the 40-class task
    assert runs.keys[(PARAMETERS, "MAP FC")] == runs.keys[(PARTIAL, "MAP FC")]


def test_every_scale_composes_and_its_keys_differ():
    table = load_tables(TABLES)["ella_table1"]
    keys = [set(TableRuns(table, scale).runs) for scale in table.scales]
    assert len(set.union(*keys)) == sum(len(each) for each in keys)


def test_measurements_follow_records_failures_and_work_in_progress(runs: TableRuns):
    (first,), (second,) = runs.keys[(STRICT, "MAP FC")], runs.keys[(STRICT, "MAP CONV")]
    (third,) = runs.keys[(PARTIAL, "MAP FC")]
    content = runs.measurements({first: record(0.5)}, {second: Measurement.failed("out of memory")}, frozenset({third}))
    assert content[(STRICT, "MAP FC")] == Measurement(50.0, None, 1, "measured")
    assert content[(STRICT, "MAP CONV")] == Measurement.failed("out of memory")
    assert content[(PARTIAL, "MAP FC")].state == "running"
    assert content[(PARTIAL, "MAP CONV")].state == "missing"
    assert content[(STRICT, "Laplace FC")].reason == "it has not been run"


def test_a_bad_override_names_the_table_and_the_cell():
    with pytest.raises(ConfigError, match=r"table ella_table1, # Params \(M\) / MAP FC: trainer\.epochs='x'"):
        TableRuns(load_tables(TABLES)["ella_table1"], "smoke", ("trainer.epochs=x",))


def test_overrides_may_depend_on_the_seed():
    runs = TableRuns(load_tables(TABLES)["rpp_table3_1"], "quick")
    configs = [runs.runs[key].config for key in runs.keys[("MLP", "Energy")]]
    assert [config.groups["data"]["split"] for config in configs] == [config.seed for config in configs] == list(range(10))
    run = runs.runs[runs.keys[("MLP", "Energy")][3]]
    assert compose_run(run.job.overrides).key == run.job.key  # what a worker composes
