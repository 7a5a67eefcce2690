"""What a table would cost: parameters, memory and hours of each run on this device. Nothing is stored.

Memory comes from sizes (``experiments.memory``) and holds for the whole run. Hours come from a few measured pieces, each
taken as often as the run does:

    steps          the fastest of a few steps of training, batches included
    curvature      two passes over few data points give the seconds of a fit that grow with the data and those that do not
    eigenvalues    factors up to ``TIMED_SIZE`` are timed one by one, larger ones extrapolated with the cube of their size
    prior steps    one step over a million eigenvalues is timed, others take their share
    LILA           whole fits on few and on more data points, extrapolated to all of a fit

Each run is probed in a process of its own, so that it starts from clean memory.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

import torch
from torch import nn

from emlp_rpp.locomotion.agent_runs import find_record
from experiments.composition import RunConfig, compose_run
from experiments.errors import one_line
from experiments.memory import estimate_memory
from experiments.run import build, build_learner
from experiments.table_runs import TableRuns
from lila.augerino import Augerino
from lila.learner import LILA
from symlab import kfac
from symlab.data.dataset import Dataset
from symlab.errors import DataError
from symlab.kfac.blocks import KroneckerBlock
from symlab.kfac.sizes import FactorSize, factor_sizes
from symlab.laplace.spectrum import Spectrum
from symlab.records.environment import peak_memory_bytes
from symlab.trainer.descent import hyperparameter_names
from symlab.trainer.hardware import Hardware
from symlab.trainer.laplace import DifferentiableLaplace
from symlab.trainer.loop import Training
from symlab.trainer.protocol import Batch, Learner

RECORDED = "emlp_rpp.locomotion.transitions.build"
PROBED_STEPS = 3
FEW_POINTS, MORE_POINTS = 2, 34
TIMED_SIZE = 1024


@dataclass(frozen=True)
class Probe:
    """One run's cost; ``problem`` says why it could not be probed."""

    label: str
    parameters: int = 0
    memory_bytes: int = 0
    hours: float = 0.0
    problem: str = ""


def probe(overrides: tuple[str, ...], label: str) -> Probe:
    """Build the run in this process, size it and time its pieces."""
    try:
        config = compose_run(overrides)
        if config.is_computed:
            return Probe(label, problem="computed in one go, nothing to extrapolate from")
        hardware, training = build(config.groups["hardware"]), build(config.groups["trainer"])
        device = hardware.prepare_process()
        runtime = peak_memory_bytes(device)
        refuse_to_record(config.groups["data"])
        data = build(config.groups["data"]).to(device)
        learner = build_learner(config, data, hardware)
        sizes = model_of_sizes(config, data, hardware)
        threads = torch.get_num_threads() if device.type == "cpu" else 1
        memory = estimate_memory(
            sizes, data, rows_at_once(learner, training.plan(data).batch_size), fit_size(learner), threads
        )
        seconds = step_seconds(learner, training, data, hardware, config.seed) * training.plan(data).total_steps
        if isinstance(learner, DifferentiableLaplace):
            factors = factor_sizes(sizes, data.input_shape, exclude=hyperparameter_names(sizes))
            seconds += fit_seconds(learner, factors) * len(learner.fit_epochs())
        elif isinstance(learner, LILA):
            seconds += invariance_seconds(learner) * len(learner.ascent.fit_epochs())
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise
        return Probe(label, problem=message)
    parameters = sum(parameter.numel() for parameter in learner.model.parameters())
    return Probe(label, parameters, runtime + memory.peak, seconds / 3600)


def refuse_to_record(data: Mapping[str, Any]) -> None:
    """A plan must not train the agent that records a run's data: that may take days."""
    if data["_target_"] == RECORDED and find_record(build(data["agent"]), data["root"]) is None:
        raise DataError("its transitions are not recorded yet: its first run trains the agent that does so")


def model_of_sizes(config: RunConfig, data: Dataset, hardware: Hardware) -> nn.Module:
    """The run's network on the meta device: shapes without memory. It is built for real first: the bases of equivariant
    layers are computed from numbers."""
    model = build(config.groups["model"], input_shape=data.input_shape, n_outputs=data.n_outputs).to("meta")
    return model.to(torch.float64) if hardware.precision == "float64" else model


def fit_size(learner: Learner) -> int | None:
    """Data points of a marginal-likelihood fit; None for learners without one."""
    if isinstance(learner, LILA):
        return learner.ascent.fit_size
    return learner.fit_size if isinstance(learner, DifferentiableLaplace) else None


def rows_at_once(learner: Learner, batch_size: int) -> int:
    """What a network is shown in one step: the copies of an averaged one too."""
    return batch_size * learner.averaged.samples if isinstance(learner, LILA | Augerino) else batch_size


def step_seconds(learner: Learner, training: Training, data: Dataset, hardware: Hardware, seed: int) -> float:
    """The fastest of a few steps; the first one warms up."""
    seconds = []
    batches = training.batches(data, seed, epoch=0)
    for _ in range(PROBED_STEPS):
        started = time.perf_counter()
        for batch in islice(batches, 1):
            with hardware.autocast():
                learner.step(Batch(hardware.prepare_inputs(batch.inputs), batch.targets))
            seconds.append(time.perf_counter() - started)
    return min(seconds[1:] or seconds)


def fit_seconds(learner: DifferentiableLaplace, factors: list[FactorSize]) -> float:
    """One marginal-likelihood fit with its prior steps."""
    inputs, targets = learner.data.train.inputs, learner.data.train.targets
    exclude = hyperparameter_names(learner.model)
    learner.model.eval()

    def curvature(count: int) -> None:
        batch = learner.data.normalise(inputs[:count]).to(next(learner.model.parameters()).dtype), targets[:count]
        kfac.estimate(learner.model, learner.likelihood, [batch], exclude=exclude)

    many = min(MORE_POINTS, len(targets))
    curvature(FEW_POINTS)  # warms up
    few_seconds, many_seconds = _timed(lambda: curvature(FEW_POINTS)), _timed(lambda: curvature(many))
    per_point = max(0.0, many_seconds - few_seconds) / max(1, many - FEW_POINTS)
    passes = few_seconds + per_point * learner.fit_size
    device = inputs.device
    eigenvalues = sum(factor.count * eigenvalue_seconds(factor.size, device) for factor in factors)
    weights = sum(parameter.numel() for parameter in learner.model.parameters())
    return passes + eigenvalues + (learner.prior_steps + 1) * weights * prior_step_seconds(device)


def invariance_seconds(learner: LILA) -> float:
    """One fit with its steps of eta and prior, from whole fits on few and on more data points; grows with their number."""
    ascent, epoch = learner.ascent, learner.ascent.fit_epochs()[0]
    wanted = ascent.fit_size
    few, many = min(FEW_POINTS, wanted), min(MORE_POINTS, wanted)

    def fit(count: int) -> float:
        ascent.fit_size = count
        return _timed(lambda: learner.end_epoch(epoch))

    fit(few)  # warms up
    few_seconds, many_seconds = fit(few), fit(many)
    ascent.fit_size = wanted
    per_point = max(0.0, many_seconds - few_seconds) / max(1, many - few)
    return many_seconds + per_point * (wanted - many)


@cache
def eigenvalue_seconds(size: int, device: torch.device) -> float:
    """Of one matrix, in float64."""
    if size == 1:
        return 0.0
    if size > TIMED_SIZE:
        return eigenvalue_seconds(TIMED_SIZE, device) * (size / TIMED_SIZE) ** 3
    rows = torch.randn(size, size, dtype=torch.float64, device=device)
    matrix = rows @ rows.T
    return min(_timed(lambda: torch.linalg.eigvalsh(matrix)) for _ in range(2))


@cache
def prior_step_seconds(device: torch.device) -> float:
    """Log determinant and its gradient, for each parameter."""
    size = TIMED_SIZE
    identity = torch.eye(size, device=device)[None, None]
    spectrum = Spectrum(KroneckerBlock(("weight",), ((size, size),), identity, identity, 1.0))
    precision = torch.ones((), dtype=torch.float64, device=device, requires_grad=True)
    spectrum.log_det(precision)  # decomposes
    return _timed(lambda: spectrum.log_det(precision).backward()) / size**2


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def plan_table(runs: TableRuns) -> Iterator[Probe]:
    """One probe per distinct configuration; seeds of the same configuration cost the same and share it."""
    probes: dict[str, Probe] = {}
    for run in runs.runs.values():
        scientific = repr({**run.config.scientific, "seed": None})
        if scientific not in probes:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                probes[scientific] = pool.apply(probe, (run.job.overrides, run.label))
        yield replace(probes[scientific], label=run.label)
