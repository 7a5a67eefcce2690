"""``make bench-emlp``: equivariant bases and networks against the peer ``emlp`` in one run, in results/bench/emlp.csv.

    common cells    the peer in its own environment (float32, JAX) beside ours (float64, with the dense matrix formed); goal:
                    20 times faster where a tensor has more than 1,000 coordinates. Both must find the same rank.
    ours alone      cells that the peer does not finish in two minutes
    steps           one training step (forward, backward, Adam; 384 channels, batch 500) of our EMLP against a plain MLP of
                    the same width in the same process, in turn, goal: at most 4 times its time; and against the peer's
                    compiled EMLP, goal: 10 times faster

Every cell is solved in a process of its own; imports and a small problem of the same group go before the clock.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.comparisons import Comparison, format_comparisons, write_comparisons
from benchmarks.emlp_cells import CELLS, BenchmarkCell
from benchmarks.emlp_steps import BATCH, CHANNELS, STEPS, TrainingStep
from benchmarks.measuring import describe_machine
from benchmarks.peer_environments import EMLP_PEER, prepare

PROJECT = Path(__file__).resolve().parent.parent
SPEED_GOAL = 20.0
GOAL_SIZE = 1_000
MLP_GOAL = 0.25  # of the plain MLP's speed
STEP_GOAL = 10.0
OUR_STEPS, PEER_STEPS = 100, 3
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


def compare_steps(step: TrainingStep, peer_python: str | None, why_missing: str, threads: int) -> list[Comparison]:
    """With these threads, and with one, as the workers of a table train."""
    plain = [_beside_mlp(step, count) for count in dict.fromkeys((1, threads))]
    return [*plain, _beside_peer(step, plain[-1], peer_python, why_missing, threads)]


def _beside_mlp(step: TrainingStep, threads: int) -> Comparison:
    ours = ask(sys.executable, "emlp_steps_ours", {"step": step.name, "repeats": OUR_STEPS, "threads": threads})
    if isinstance(ours, str):
        raise RuntimeError(f"{step.name}: {ours}")
    work = f"training {step.name}: {CHANNELS} channels, batch {BATCH}, threads {threads}"
    return Comparison(work, ours["emlp"], ours["mlp"], "plain MLP", "s", MLP_GOAL)


def _beside_peer(
    step: TrainingStep, ours: Comparison, peer_python: str | None, why_missing: str, threads: int
) -> Comparison:
    request: dict[str, object] = {"step": step.name, "repeats": PEER_STEPS, "threads": threads}
    theirs = ask(peer_python, "emlp_steps_peer", request) if peer_python else why_missing
    if isinstance(theirs, str):
        return Comparison(ours.work, ours.ours, None, f"emlp: missing, {theirs}", "s")
    return Comparison(ours.work, ours.ours, theirs["emlp"], "emlp", "s", STEP_GOAL)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare equivariant bases and networks with emlp")
    names = [*CELLS, *STEPS]
    parser.add_argument("work", nargs="*", default=names, help=f"of {', '.join(names)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    python, why = None, ""
    if any(name in STEPS or CELLS[name].peer for name in options.work):
        environment = prepare(EMLP_PEER)
        why = "; ".join(f"{name}: {reason}" for name, reason in environment.missing.items())
        python = None if environment.missing else str(environment.python)
    rows: list[Comparison] = []
    for name in options.work:
        if name in STEPS:
            found = compare_steps(STEPS[name], python, why, options.threads)
        else:
            found = [compare(CELLS[name], python, why, options.repeats, options.threads)]
        rows += found
        path = write_comparisons("emlp", rows, describe_machine())
        print(format_comparisons(found), flush=True)
    print(format_comparisons(rows))
    print(f"written to {path}")


if __name__ == "__main__":
    main()
