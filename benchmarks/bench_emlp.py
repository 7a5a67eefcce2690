"""``make bench-emlp``: equivariant bases against the peer ``emlp`` in one run here, written to results/bench/emlp.csv.

    common cells    the peer in its own environment (float32, JAX) beside ours (float64, with the dense matrix formed); goal:
                    20 times faster where a tensor has more than 1,000 coordinates. Both must find the same rank.
    ours alone      cells that the peer does not finish in two minutes

Every cell is solved in a process of its own; imports and a small problem of the same group go before the clock.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.comparisons import Comparison, format_comparisons, write_comparisons
from benchmarks.emlp_cells import CELLS, BenchmarkCell
from benchmarks.measuring import describe_machine
from benchmarks.peer_environments import EMLP_PEER, prepare

PROJECT = Path(__file__).resolve().parent.parent
SPEED_GOAL = 20.0
GOAL_SIZE = 1_000
TIMEOUT_SECONDS = 900


def ask(python: str, module: str, request: dict[str, object]) -> dict[str, float] | str:
    """The answer of a worker, or in words why there is none."""
    command = [python, "-m", f"benchmarks.peers.{module}", json.dumps(request)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"more than {TIMEOUT_SECONDS} s"
    lines = [line for line in finished.stdout.splitlines() if line.startswith("{")]
    if finished.returncode != 0 or not lines:
        return (finished.stderr.strip().splitlines() or [f"exit status {finished.returncode}"])[-1]
    return json.loads(lines[-1])


def compare(cell: BenchmarkCell, peer_python: str | None, why_missing: str, repeats: int, threads: int) -> Comparison:
    request: dict[str, object] = {"cell": cell.name, "repeats": repeats, "threads": threads}
    ours = ask(sys.executable, "emlp_ours", request)
    if isinstance(ours, str):
        raise RuntimeError(f"{cell.name}: {ours}")
    form = "dense" if ours["dense"] else "compact"
    work = f"{cell.name}: {int(ours['size']):,} coordinates, rank {int(ours['rank'])}, {form}"
    if not cell.peer:
        return Comparison(work, ours["seconds"], None, "ours alone", "s")
    theirs = ask(peer_python, "emlp_peer", request) if peer_python else why_missing
    if isinstance(theirs, str):
        return Comparison(work, ours["seconds"], None, f"emlp: missing, {theirs}", "s")
    goal = SPEED_GOAL if ours["size"] > GOAL_SIZE else None
    name = "emlp" if theirs["rank"] == ours["rank"] else f"emlp (finds rank {int(theirs['rank'])})"
    return Comparison(work, ours["seconds"], theirs["seconds"], name, "s", goal)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare equivariant bases with emlp")
    parser.add_argument("cells", nargs="*", default=list(CELLS), help=f"of {', '.join(CELLS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    chosen = [CELLS[name] for name in options.cells]
    python, why = None, ""
    if any(cell.peer for cell in chosen):
        environment = prepare(EMLP_PEER)
        why = "; ".join(f"{name}: {reason}" for name, reason in environment.missing.items())
        python = None if environment.missing else str(environment.python)
    rows: list[Comparison] = []
    for cell in chosen:
        rows.append(compare(cell, python, why, options.repeats, options.threads))
        path = write_comparisons("emlp", rows, describe_machine())
        print(format_comparisons(rows[-1:]), flush=True)
    print(format_comparisons(rows))
    print(f"written to {path}")


if __name__ == "__main__":
    main()
