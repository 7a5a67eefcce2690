"""Which of the peers' results count."""

from benchmarks.kfac_peers import fastest, leanest
from benchmarks.kfac_turns import FitResult


def test_fastest_and_leanest_pass_over_the_missing():
    quick = FitResult("quick", "mlp", 1, seconds=(1.0, 2.0, 1.5), extra_memory_bytes=9)
    small = FitResult("small", "mlp", 1, seconds=(3.0,), extra_memory_bytes=2)
    absent = FitResult("absent", "mlp", 1, missing="no wheel")
    assert quick.median_seconds == 1.5
    assert fastest([absent, small, quick]) is quick
    assert leanest([absent, small, quick]) is small
    assert fastest([absent]) is None
