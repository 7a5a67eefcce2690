"""Results of workers, without the peers: a script that fails is reported with its reason."""

from benchmarks.kfac_peers import PeerResult, fastest, leanest, measure_worker


def test_a_worker_that_fails_is_missing_with_the_reason():
    result = measure_worker("nobody", "kfac_nobody", "mlp", samples=10, repeats=1)
    assert result.seconds == ()
    assert "kfac_nobody" in (result.missing or "")


def test_fastest_and_leanest_pass_over_the_missing():
    quick = PeerResult("quick", "mlp", 1, seconds=(1.0, 2.0, 1.5), extra_memory_bytes=9)
    small = PeerResult("small", "mlp", 1, seconds=(3.0,), extra_memory_bytes=2)
    absent = PeerResult("absent", "mlp", 1, missing="no wheel")
    assert quick.median_seconds == 1.5
    assert fastest([absent, small, quick]) is quick
    assert leanest([absent, small, quick]) is small
    assert fastest([absent]) is None
