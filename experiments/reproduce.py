"""Fill one table: ``python -m experiments.reproduce table=ella_table1 scale=quick jobs=2``.

Only runs without a record are computed. After every finished run the table is rendered again under
``results/<table>/<scale>/``. A failed run is reported with its log and the others go on; the exit code is then 1.

    table=<id>       which table (see `make help`)
    scale=<name>     smoke | quick | cpu | paper (default quick)
    jobs=<n>         worker processes (default 1); the cores are divided between them
    plan=true        print cells, parameters, memory and hours; run nothing
    results=<dir>    where rendered tables go (default results)
    hydra/launcher=joblib | submitit_local | submitit_slurm   hand the runs to one of Hydra's launchers instead
Any other argument is an override of every run of the table, for example hardware=gpu or tracking=off.
"""

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table as RichTable

from experiments.composition import CONFIGURATION
from experiments.errors import reported
from experiments.filling import Filling
from experiments.planning import plan_table
from experiments.progress import as_duration
from experiments.table_output import TableOutput
from experiments.table_runs import TableRuns
from experiments.tabulation.specification import find_table, load_tables
from symlab.errors import ConfigError

TABLES = Path(__file__).resolve().parent / "tables"
_OWN_KEYS = ("table", "scale", "plan", "jobs", "results")


@dataclass(frozen=True)
class Request:
    """The command line, sorted: what to fill, through which launcher, and overrides for every run."""

    table: str
    scale: str
    plan: bool
    jobs: int
    results: str
    launcher: tuple[str, ...]
    extra: tuple[str, ...]


def parse(arguments: Sequence[str]) -> Request:
    own, launcher, extra = [], [], []
    for argument in arguments:
        key, separator, _ = argument.partition("=")
        if not separator:
            raise ConfigError(f"{argument!r} does not fit: arguments have the form key=value, e.g. table=ella_table1")
        if key in _OWN_KEYS:
            own.append(argument)
        elif key.startswith(("hydra/launcher", "hydra.launcher")):
            launcher.append(argument)
        else:
            extra.append(argument)
    with initialize_config_dir(str(CONFIGURATION), version_base="1.3"):
        config = compose("reproduce", overrides=own)
    table = "" if OmegaConf.is_missing(config, "table") else str(config.table)
    for key, kind in (("jobs", int), ("plan", bool)):
        if not isinstance(config[key], kind):
            raise ConfigError(f"{key}={config[key]!r} does not fit: {kind.__name__} is needed")
    return Request(table, str(config.scale), config.plan, config.jobs, config.results, tuple(launcher), tuple(extra))


def _threads(request: Request) -> tuple[str, ...]:
    """Divide the cores between the workers unless the user says otherwise."""
    if request.jobs == 1 or any(argument.startswith("hardware.threads=") for argument in request.extra):
        return ()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return (f"hardware.threads={max(1, cores // request.jobs)}",)


def show_plan(runs: TableRuns, jobs: int) -> None:
    """Print what each missing run would cost here."""
    probes = []
    for probe in plan_table(runs):
        probes.append(probe)
        print(f"[{len(probes)}/{len(runs.runs)}] {probe.label}", file=sys.stderr, flush=True)
    table = RichTable(title=f"{runs.table.id}, scale {runs.scale}: {len(probes)} runs, nothing is started")
    for heading in ("run", "parameters", "memory", "hours"):
        table.add_column(heading, justify="left" if heading == "run" else "right")
    for probe in probes:
        if probe.problem:
            table.add_row(probe.label, "", "", probe.problem)
        else:
            memory = f"{probe.memory_bytes / 2**30:.1f} GiB"
            table.add_row(probe.label, f"{probe.parameters:,}", memory, f"{probe.hours:.3f}")
    Console().print(table)
    hours = sum(probe.hours for probe in probes)
    print(f"together {hours:.2f} h of computing, {as_duration(hours * 3600 / jobs)} with {jobs} job(s)")
    largest = max(probes, key=lambda probe: probe.memory_bytes, default=None)
    if largest is not None:
        print(f"largest memory {largest.memory_bytes / 2**30:.1f} GiB ({largest.label})")
    print("hours: extrapolated from measured steps, curvature passes and decompositions (experiments/planning.py)")
    print("memory: peak, from sizes of data, weights, moments, activations and curvature factors (experiments/memory.py)")


def reproduce(request: Request) -> int:
    tables = load_tables(TABLES)
    if not request.table:
        raise ConfigError(f"table has no value: set table=<id>, one of {', '.join(tables)}")
    table = find_table(tables, request.table)
    runs = TableRuns(table, request.scale, (*_threads(request), *request.extra))
    if request.plan:
        show_plan(runs, request.jobs)
        return 0
    filling = Filling(runs, TableOutput(runs, Path(request.results), request.extra))
    if request.launcher:
        filling.through_launcher(request.launcher)
    else:
        filling.with_workers(request.jobs)
    filling.show()
    return 1 if filling.failures.keys() - filling.not_installed else 0  # an extra that is not there is the user's choice


def main() -> None:
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    with reported():
        sys.exit(reproduce(parse(sys.argv[1:])))


if __name__ == "__main__":
    main()
