"""The ratio is larger for the better, a missing peer keeps its line."""

import csv

from benchmarks.comparisons import COLUMNS, Comparison, format_comparisons, write_comparisons


def test_a_cost_is_compared_as_peer_over_ours():
    line = Comparison("fit", ours=2.0, peer=5.0, peer_name="a", unit="s", goal=2.0)
    assert line.ratio == 2.5
    assert line.holds is True


def test_a_rate_is_compared_as_ours_over_peer():
    line = Comparison("speed", ours=60.0, peer=150.0, peer_name="sgemm", unit="GFLOP/s", goal=0.6)
    assert line.ratio == 0.4
    assert line.holds is False


def test_a_missing_peer_has_no_ratio_and_holds_nothing():
    line = Comparison("fit", ours=2.0, peer=None, peer_name="a (missing: no wheel)", unit="s", goal=2.0)
    assert line.ratio is None
    assert line.holds is None


def test_the_file_has_the_agreed_columns(tmp_path):
    lines = [Comparison("fit", 1.0, 2.0, "a", "s", 2.0), Comparison("fit", 1.0, None, "b (missing)", "s")]
    path = write_comparisons("kfac", lines, {"threads": 2}, tmp_path)
    rows = list(csv.reader(path.read_text().splitlines()))
    assert rows == [
        list(COLUMNS),
        ["fit", "1", "2", "a", "s", "2", "2", "yes"],
        ["fit", "1", "", "b (missing)", "s", "", "", ""],
    ]
    assert (tmp_path / "kfac.machine.json").exists()
    assert "b (missing)" in format_comparisons(lines)
