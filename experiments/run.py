"""Run one configuration: ``python -m experiments.run data=mnist model=mlp learner=map seed=0``.

The result is a directory ``runs/<key>/``; a finished run is not computed again, an interrupted one goes on where it was.
Sweeps: ``python -m experiments.run -m seed=0,1 hydra/launcher=joblib``.
"""

import inspect
import logging
import os
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import hydra
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.types import RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig

from experiments.binding import target_of
from experiments.composition import COMPUTATION, CONFIGURATION, RunConfig, check
from experiments.drawings.runs import draw_run
from experiments.errors import reported
from experiments.progress import Silent, as_text, choose_observer
from experiments.tracking import Tracker
from symlab.computed import Computed
from symlab.data.dataset import Dataset
from symlab.errors import DivergedError, SymlabError
from symlab.records import RunDirectory, describe_environment
from symlab.records.environment import peak_memory_bytes
from symlab.trainer.evaluation import evaluate
from symlab.trainer.hardware import Hardware
from symlab.trainer.loop import Loop
from symlab.trainer.protocol import Learner
from symlab.trainer.surface import decision_surface, is_planar


def build(node: Mapping[str, Any], **supplied: Any) -> Any:
    """Instantiate a group; of what the application can supply, pass what the constructor takes."""
    try:
        built = instantiate(dict(node), _convert_="all")
    except InstantiationException as error:
        if isinstance(error.__cause__, SymlabError):  # our own message, without Hydra's frame around it
            raise error.__cause__ from None
        raise
    if not node.get("_partial_", False):
        return built
    takes = inspect.signature(target_of(node, "")).parameters
    return built(**{name: value for name, value in supplied.items() if name in takes})


def build_learner(config: RunConfig, data: Dataset, hardware: Hardware) -> Learner:
    """Model and learner with weights drawn from the run's seed."""
    torch.manual_seed(config.seed)
    model = build(config.groups["model"], input_shape=data.input_shape, n_outputs=data.n_outputs)
    plan = build(config.groups["trainer"]).plan(data)
    model = hardware.prepare_model(model)
    return build(config.groups["learner"], model=model, plan=plan, data=data, seed=config.seed)


class Reports:
    """Passes progress on to the terminal and to tracking."""

    def __init__(self, observer: Silent, tracker: Tracker, steps_per_epoch: int):
        self.observer, self.tracker, self.steps_per_epoch = observer, tracker, steps_per_epoch

    def step(self, done: int, total: int, metrics: dict[str, float]) -> None:
        self.observer.step(done, total, metrics)

    def epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        self.observer.epoch(epoch, metrics)
        self.tracker.log(metrics, step=(epoch + 1) * self.steps_per_epoch)


def compute(config: RunConfig, directory: RunDirectory) -> dict[str, Any]:
    """The record of a run without one; the caller holds the directory's lock."""
    return compute_directly(config, directory) if config.is_computed else train(config, directory)


def compute_directly(config: RunConfig, directory: RunDirectory) -> dict[str, Any]:
    """A computation in one go: its ``compute()`` returns what ``symlab.computed`` says."""
    hardware: Hardware = build(config.groups["hardware"])
    device = hardware.prepare_process()
    directory.write_config(config.as_yaml())
    node = config.groups[COMPUTATION]
    tracking = build(config.groups["tracking"])
    tracker = tracking.open(config.key, f"{node['_target_'].rpartition('.')[2]} {config.key}", "run", config.scientific)
    started = time.perf_counter()
    computed: Computed = build(node).compute()
    seconds = time.perf_counter() - started
    used = {"name": "none", "fingerprint": "", "notes": list(computed.notes)}
    record = describe(config, computed.metrics, used, device, seconds)
    record["remark"] = computed.remark
    directory.write_arrays(computed.arrays)
    directory.finish(record)
    tracker.finish({"status": "finished", "seconds": seconds, **computed.metrics})
    return record


def train(config: RunConfig, directory: RunDirectory) -> dict[str, Any]:
    """Train, evaluate and record."""
    hardware: Hardware = build(config.groups["hardware"])
    execution, training = build(config.groups["execution"]), build(config.groups["trainer"])
    device = hardware.prepare_process()
    directory.write_config(config.as_yaml())
    data: Dataset = build(config.groups["data"])
    data = data.to(device)
    learner = build_learner(config, data, hardware)
    tracking = build(config.groups["tracking"])
    tracker = tracking.open(config.key, f"{data.name} {config.key}", "run", config.scientific)
    observer = choose_observer(execution.progress)
    reports = Reports(observer, tracker, training.plan(data).steps_per_epoch)
    loop = Loop(training, learner, data, hardware, config.seed, directory, reports, execution.checkpoint_seconds)
    try:
        seconds = loop.run()
        metrics = loop.final_metrics()
        metrics |= evaluate(loop.predict, data, data.test, "test", training.evaluation_batch_size)
    except DivergedError as error:
        directory.fail({"status": "diverged", "message": str(error), "command": command(), **error.details})
        tracker.finish({"status": "diverged"})
        raise
    finally:
        observer.close()
    metrics["parameters"] = float(sum(parameter.numel() for parameter in learner.model.parameters()))
    if data.validation is not None:
        metrics |= evaluate(loop.predict, data, data.validation, "validation", training.evaluation_batch_size)
    if hasattr(learner, "final_metrics"):
        metrics |= learner.final_metrics()
    used: dict[str, Any] = {"name": data.name, "fingerprint": data.fingerprint(), "notes": list(data.notes)}
    used |= {"train_size": len(data.train), "input_shape": list(data.input_shape)}
    record = describe(config, metrics, used, device, seconds)
    arrays = learner.arrays() if hasattr(learner, "arrays") else {}
    if is_planar(data):
        arrays |= decision_surface(loop.predict, data, training.evaluation_batch_size)
    directory.write_arrays(arrays)
    directory.finish(record)
    tracker.finish({"status": "finished", "seconds": seconds, **metrics})
    return record


def describe(
    config: RunConfig, metrics: dict[str, float], data: dict[str, Any], device: torch.device, seconds: float
) -> dict[str, Any]:
    """What a record says of every run."""
    return {
        "key": config.key,
        "metrics": metrics,
        "config": config.scientific,
        "data": data,
        "environment": describe_environment(device).as_dict(),
        "hardware": config.groups["hardware"],
        "seconds": seconds,
        "peak_memory_bytes": peak_memory_bytes(device),
        "command": command(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def command() -> str:
    """How this process was started, as a line for a shell."""
    module = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    return shlex.join(["python", "-m", f"experiments.{module}", *sys.argv[1:]])


def execute(config: RunConfig) -> dict[str, Any]:
    """The record of a configuration: read if it is there, computed otherwise."""
    directory = RunDirectory(config.groups["paths"]["runs"], config.key)
    record = directory.record()
    if record is None:
        with directory.locked():
            record = directory.record() or compute(config, directory)
    return record


def task(config: DictConfig) -> dict[str, float]:
    """One job of Hydra's: in a single run its error ends the process with one line, in a sweep the launcher collects it."""
    start_logging()  # again, because a launcher calls this in other processes
    with reported() if HydraConfig.get().mode == RunMode.RUN else nullcontext():
        return report_run(check(config))


def report_run(checked: RunConfig) -> dict[str, float]:
    directory = RunDirectory(checked.groups["paths"]["runs"], checked.key)
    finished = directory.record_path.exists()
    record = execute(checked)
    state = "was finished" if finished else f"took {record['seconds']:.1f} s"
    shown = {name: value for name, value in record["metrics"].items() if checked.is_computed or name.startswith("test/")}
    print(f"run {checked.key} {state}: {as_text(shown)}")
    for line in learned_lines(record["metrics"]):
        print(line)
    for path in draw_run(directory):
        print(f"drawn: {path}")
    return record["metrics"]


def learned_lines(metrics: Mapping[str, float]) -> list[str]:
    """The invariances a run learned, one a line; a metric ``invariance/rotation_degrees`` names what, then the unit."""
    named = [(name.partition("/")[2], value) for name, value in sorted(metrics.items()) if name.startswith("invariance/")]
    parts = [(name.rpartition("_"), value) for name, value in named]
    return [f"learned {what.replace('_', ' ')}: up to ±{value:.3g} {unit}" for (what, _, unit), value in parts]


def start_logging() -> None:
    """What the libraries say goes to the standard error output; Hydra is told to leave logging alone (conf/config.yaml)."""
    logging.basicConfig(format="%(message)s", level=logging.INFO)


def main() -> None:
    start_logging()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra hands its errors over instead of printing them itself
    with reported():
        hydra.main(version_base="1.3", config_path=str(CONFIGURATION), config_name="config")(task)()


if __name__ == "__main__":
    main()
