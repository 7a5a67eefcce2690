"""Measure KFAC implementations on one workload, each in fresh processes with its own environment.

``measure_peers`` measures every peer; ``measure_worker`` any other script that calls ``answer_request`` of
``benchmarks.peers.kfac_worker``, so that our own fit is measured in the same way. Each measurement takes two processes: one
finds the fastest of a few batch sizes on part of the data, one measures memory and time with it. A peer that cannot be
installed, fails or takes too long is returned with the reason.

Measure on an idle machine: waiting threads spin, and with other processes on the cores a fit takes up to ten times longer
(``sgemm_gflops`` of a result tells). OMP_WAIT_POLICY=passive, inherited from the environment, avoids that for a rough look,
but it slowed a peer on an almost idle machine by up to 1.6 times, so no ratio may be taken from such a run.

    python -m benchmarks.kfac_peers mlp cnn --repeats 3
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.kfac_workloads import WORKLOADS
from benchmarks.peer_environments import KFAC_PEERS, PreparedEnvironment, prepare

PROJECT = Path(__file__).resolve().parent.parent
BATCH_SIZES = (50, 100, 250, 500)
SELECTION_SAMPLES = 500  # a multiple of each batch size
TIMEOUT_SECONDS = 900


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


@dataclass(frozen=True)
class PeerResult:
    """What was measured, or ``missing``: why nothing was."""

    name: str
    workload: str
    samples: int
    seconds: tuple[float, ...] = ()
    extra_memory_bytes: int | None = None
    batch_size: int | None = None
    version: str = ""
    notes: str = ""
    block_traces: tuple[float, ...] = field(default=(), repr=False)
    sgemm_gflops: float | None = None
    missing: str | None = None

    @property
    def median_seconds(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None


def measure_peers(
    workload: str,
    samples: int | None = None,
    repeats: int = 5,
    threads: int = 2,
    peers: Sequence[Peer] = PEERS,
    batch_sizes: Sequence[int] = BATCH_SIZES,
) -> list[PeerResult]:
    """One result for each peer, in order. ``samples`` defaults to the workload's N."""
    environment = prepare(KFAC_PEERS)
    samples = samples or WORKLOADS[workload].samples
    results = []
    for peer in peers:
        reason = _not_installed(peer, environment)
        if reason is not None:
            results.append(PeerResult(peer.name, workload, samples, missing=reason))
            continue
        results.append(
            measure_worker(peer.name, peer.script, workload, samples, repeats, threads, batch_sizes, str(environment.python))
        )
    return results


def measure_worker(
    name: str,
    script: str,
    workload: str,
    samples: int | None = None,
    repeats: int = 5,
    threads: int = 2,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    python: str = sys.executable,
) -> PeerResult:
    """Measure the module ``benchmarks.peers.<script>`` run by ``python`` (default: our own environment)."""
    samples = samples or WORKLOADS[workload].samples
    request = {"workload": workload, "repeats": repeats, "threads": threads}
    try:
        batch_size = batch_sizes[0]
        if len(batch_sizes) > 1:
            part = min(samples, SELECTION_SAMPLES)
            batch_size = _ask(python, script, {**request, "samples": part, "batch_sizes": list(batch_sizes)})["batch_size"]
        answer = _ask(python, script, {**request, "samples": samples, "batch_sizes": [batch_size]})
    except WorkerFailedError as error:
        return PeerResult(name, workload, samples, missing=str(error))
    return PeerResult(
        name,
        workload,
        samples,
        tuple(answer["seconds"]),
        answer["extra_memory_bytes"],
        answer["batch_size"],
        answer["version"],
        answer["notes"],
        tuple(answer["block_traces"]),
        answer["sgemm_gflops"],
    )


def fastest(results: Iterable[PeerResult]) -> PeerResult | None:
    """The measured result with the least median time."""
    return min((result for result in results if result.seconds), key=lambda r: r.median_seconds or 0.0, default=None)


def leanest(results: Iterable[PeerResult]) -> PeerResult | None:
    """The measured result with the least extra memory."""
    measured = (result for result in results if result.extra_memory_bytes is not None)
    return min(measured, key=lambda r: r.extra_memory_bytes or 0, default=None)


def measure_forward_backward(
    workload: str, samples: int | None = None, repeats: int = 5, threads: int = 2, batch_sizes: Sequence[int] = BATCH_SIZES
) -> PeerResult:
    """The reference line: one gradient of the mean loss over all samples, in our own environment."""
    name = "one forward + backward"
    return measure_worker(name, "kfac_forward_backward", workload, samples, repeats, threads, batch_sizes)


class WorkerFailedError(Exception):
    """A worker ended without an answer; the message is its last line of error output."""


def _not_installed(peer: Peer, environment: PreparedEnvironment) -> str | None:
    for requirement, reason in environment.missing.items():
        if requirement.partition("==")[0] in peer.packages:
            return f"{requirement} could not be installed: {reason}"
    return None


def _ask(python: str, script: str, request: dict[str, object]) -> dict:
    """Run a worker and parse its answer."""
    threads = str(request["threads"])
    variables = {"PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    command = [python, "-m", f"benchmarks.peers.{script}", json.dumps(request)]
    try:
        finished = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=PROJECT,
            env=os.environ | variables,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise WorkerFailedError(f"no answer within {TIMEOUT_SECONDS} s") from None
    if finished.returncode != 0:
        lines = finished.stderr.strip().splitlines() or [f"exit status {finished.returncode}"]
        raise WorkerFailedError(lines[-1])
    return json.loads(finished.stdout.strip().splitlines()[-1])


def main() -> None:
    """Measure the peers alone and print each as soon as it is known."""
    parser = argparse.ArgumentParser(description="Measure the KFAC peers")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=None, help="default: the N of the workload")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=BATCH_SIZES, help="the fastest is used")
    options = parser.parse_args()
    sizes = options.batch_sizes
    for workload in options.workloads:
        arguments = (workload, options.samples, options.repeats, options.threads)
        print(describe_result(measure_forward_backward(*arguments, sizes)), flush=True)
        for peer in PEERS:
            for result in measure_peers(*arguments, [peer], sizes):
                print(describe_result(result), flush=True)


def describe_result(result: PeerResult) -> str:
    """One line: median (fastest-slowest), memory, how it was measured."""
    title = f"{result.workload:5} N={result.samples:<5} {result.name:27}"
    if result.missing is not None:
        return f"{title} missing: {result.missing}"
    return (
        f"{title} {result.median_seconds or 0:7.2f} s ({min(result.seconds):.2f}-{max(result.seconds):.2f}) "
        f"{(result.extra_memory_bytes or 0) / 1e6:6.0f} MB  batch {result.batch_size}  "
        f"sgemm {result.sgemm_gflops or 0:.0f} GFLOP/s  {result.version}  {result.notes}"
    ).rstrip()


if __name__ == "__main__":
    main()
