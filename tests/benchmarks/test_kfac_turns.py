"""Implementations that take turns, without the peers: ours, one that fails and one that is not there."""

from benchmarks.kfac_turns import Implementation, measure_in_turn


def test_every_round_asks_each_and_failures_are_missing_with_their_reason():
    implementations = [
        Implementation("symlab", "kfac_symlab"),
        Implementation("nobody", "kfac_nobody"),
        Implementation("absent", "kfac_absent", missing="no wheel"),
    ]
    ours, nobody, absent = measure_in_turn(implementations, "mlp", samples=20, repeats=2, threads=1, batch_sizes=[10])
    assert len(ours.seconds) == len(ours.sgemm_gflops) == 2
    assert ours.batch_size == 10
    assert len(ours.block_traces) == 3
    assert ours.missing is None
    assert nobody.seconds == ()
    assert "kfac_nobody" in (nobody.missing or "")
    assert absent.missing == "no wheel"
