import math
from collections.abc import Mapping

import pytest

from experiments.tabulation.measurement import Measurement, aggregate
from experiments.tabulation.specification import Cell, Metric

METRIC = Metric("test/accuracy", scale=100.0)


def make_cell(seeds: tuple[int, ...] = (0, 1, 2), missing: str | None = None) -> Cell:
    return Cell("row", "column", METRIC, None if missing else (), seeds, missing)


def accuracies(*values: float | None) -> list[Mapping[str, float] | None]:
    return [None if value is None else {"test/accuracy": value} for value in values]


def test_mean_and_sample_standard_deviation_are_scaled() -> None:
    measured = aggregate(make_cell(), accuracies(0.1, 0.2, 0.6))
    assert measured.value == pytest.approx(30.0)
    assert measured.spread == pytest.approx(math.sqrt((20**2 + 10**2 + 30**2) / 2))
    assert (measured.seeds, measured.state, measured.reason) == (3, "measured", "")


def test_single_seed_has_no_spread() -> None:
    assert aggregate(make_cell((5,)), accuracies(0.25)) == Measurement(25.0, None, 1, "measured")


def test_some_seeds_make_a_partial_cell() -> None:
    measured = aggregate(make_cell(), accuracies(0.1, None, 0.3), reason="seed 1 diverged")
    assert (measured.state, measured.seeds, measured.reason) == ("partial", 2, "2 of 3 seeds; seed 1 diverged")
    assert measured.value == pytest.approx(20.0)


def test_no_seed_makes_a_missing_cell() -> None:
    assert aggregate(make_cell(), [None] * 3) == Measurement.missing("it has not been run")


def test_missing_cell_keeps_its_reason() -> None:
    assert aggregate(make_cell(missing="no learner"), []) == Measurement.missing("no learner")


def test_absent_metric_fails_and_is_named() -> None:
    measured = aggregate(make_cell((7,)), [{"test/nll": 1.0, "parameters": 3}])
    assert measured == Measurement.failed("the record of seed 7 has no 'test/accuracy'; it has parameters, test/nll")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_number_that_is_not_finite_fails(value: float) -> None:
    measured = aggregate(make_cell((0, 1)), accuracies(0.5, value))
    assert (measured.state, measured.value) == ("failed", None)
    assert f"'test/accuracy' of seed 1 is {value}" in measured.reason


def test_wrong_number_of_records_is_a_bug() -> None:
    with pytest.raises(ValueError, match="3 seeds but got 1"):
        aggregate(make_cell(), accuracies(0.5))
