"""The KFAC implementations that ours is compared with, each in its own environment (``benchmarks.peer_environments``).

Measure on an idle machine: waiting threads spin, and with other processes on the cores a fit takes up to ten times longer
(``sgemm_gflops`` of a result tells). OMP_WAIT_POLICY=passive, inherited from the environment, avoids that for a rough look,
but it slowed a peer on an almost idle machine by up to 1.6 times, so no ratio may be taken from such a run.

    python -m benchmarks.kfac_peers mlp cnn --repeats 3
"""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.kfac_turns import BATCH_SIZES, FitResult, Implementation, measure_in_turn
from benchmarks.kfac_workloads import WORKLOADS
from benchmarks.peer_environments import KFAC_PEERS, PreparedEnvironment, prepare


@dataclass(frozen=True)
class Peer:
    """``script`` is a module of ``benchmarks.peers``; ``packages`` are the names of the distributions that it needs."""

    name: str
    script: str
    packages: tuple[str, ...]


PEERS = (
    Peer("laplace-torch + curvlinops", "kfac_laplace_curvlinops", ("laplace-torch", "curvlinops-for-pytorch")),
    Peer("laplace-torch + asdl", "kfac_laplace_asdl", ("laplace-torch", "asdfghjkl")),
    Peer("laplace-torch + backpack", "kfac_laplace_backpack", ("laplace-torch", "backpack-for-pytorch")),
    Peer("curvlinops", "kfac_curvlinops", ("curvlinops-for-pytorch",)),
    Peer("backpack", "kfac_backpack", ("backpack-for-pytorch",)),
    Peer("nngeometry", "kfac_nngeometry", ("nngeometry",)),
    Peer("asdl (asdfghjkl)", "kfac_asdl", ("asdfghjkl",)),
)
OURS = Implementation("symlab", "kfac_symlab")
FORWARD_BACKWARD = Implementation("one forward + backward", "kfac_forward_backward")
"""The reference line: one gradient of the mean loss over all samples, in our own environment."""


def prepared_peers() -> list[Implementation]:
    """All peers, installed where they can be."""
    environment = prepare(KFAC_PEERS)
    return [
        Implementation(peer.name, peer.script, str(environment.python), _not_installed(peer, environment)) for peer in PEERS
    ]


def _not_installed(peer: Peer, environment: PreparedEnvironment) -> str | None:
    for requirement, reason in environment.missing.items():
        if requirement.partition("==")[0] in peer.packages:
            return f"{requirement} could not be installed: {reason}"
    return None


def fastest(results: Iterable[FitResult]) -> FitResult | None:
    """The measured result with the least median time."""
    return min((result for result in results if result.seconds), key=lambda r: r.median_seconds or 0.0, default=None)


def leanest(results: Iterable[FitResult]) -> FitResult | None:
    """The measured result with the least extra memory."""
    measured = (result for result in results if result.extra_memory_bytes is not None)
    return min(measured, key=lambda r: r.extra_memory_bytes or 0, default=None)


def main() -> None:
    """Measure ours and the peers on some workloads and print each."""
    parser = argparse.ArgumentParser(description="Measure KFAC implementations, taking turns")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=None, help="default: the N of the workload")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=BATCH_SIZES, help="the fastest is used")
    parser.add_argument("--peers", nargs="*", default=[peer.name for peer in PEERS])
    options = parser.parse_args()
    implementations = [OURS, *(peer for peer in prepared_peers() if peer.name in options.peers), FORWARD_BACKWARD]
    for workload in options.workloads:
        arguments = (workload, options.samples, options.repeats, options.threads, options.batch_sizes)
        for result in measure_in_turn(implementations, *arguments):
            print(describe_result(result), flush=True)


def describe_result(result: FitResult) -> str:
    """One line: median (fastest-slowest), memory, how it was measured."""
    title = f"{result.workload:5} N={result.samples:<5} {result.name:27}"
    if result.missing is not None:
        return f"{title} missing: {result.missing}"
    return (
        f"{title} {result.median_seconds or 0:7.2f} s ({min(result.seconds):.2f}-{max(result.seconds):.2f}) "
        f"{(result.extra_memory_bytes or 0) / 1e6:6.0f} MB  batch {result.batch_size}  "
        f"sgemm {min(result.sgemm_gflops):.0f}-{max(result.sgemm_gflops):.0f} GFLOP/s  {result.version}  {result.notes}"
    ).rstrip()


if __name__ == "__main__":
    main()
