"""The training loop: deterministic, checkpointed between any two steps, stopped by a loss that is not finite."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import torch

from symlab.data.dataset import Dataset
from symlab.errors import ConfigError, DivergedError
from symlab.records import RunDirectory
from symlab.trainer.batches import MAXIMAL_SHIFT, Augmentation, epoch_batches
from symlab.trainer.evaluation import evaluate
from symlab.trainer.hardware import Hardware
from symlab.trainer.protocol import Batch, Learner, TrainingPlan


@dataclass(frozen=True)
class Training:
    """How long and on what batches. ``maximal_shift`` is in pixels, of an augmentation that shifts; at a lower resolution
    fewer pixels are the same shift. ``validate_every`` counts epochs; 0 leaves validation out while training."""

    epochs: int = 10
    batch_size: int = 128
    augmentation: Augmentation = "none"
    maximal_shift: int = MAXIMAL_SHIFT
    validate_every: int = 0
    evaluation_batch_size: int = 500

    def __post_init__(self) -> None:
        least_values = {"epochs": 0, "batch_size": 1, "maximal_shift": 0, "validate_every": 0, "evaluation_batch_size": 1}
        for name, least in least_values.items():
            if getattr(self, name) < least:
                raise ConfigError(f"trainer.{name}={getattr(self, name)} does not fit: it must be at least {least}")

    def plan(self, data: Dataset) -> TrainingPlan:
        return TrainingPlan(len(data.train), min(self.batch_size, len(data.train)), self.epochs)

    def batches(self, data: Dataset, seed: int, epoch: int, start: int = 0) -> Iterator[Batch]:
        """The batches of one epoch, from the ``start``-th one on."""
        size = self.plan(data).batch_size
        return epoch_batches(data, size, self.augmentation, seed, epoch, start, self.maximal_shift)


class Observer(Protocol):
    """Told of progress while it happens; shows or forwards it, never changes it."""

    def step(self, done: int, total: int, metrics: dict[str, float]) -> None: ...

    def epoch(self, epoch: int, metrics: dict[str, float]) -> None: ...


@dataclass
class Progress:
    """Where the loop stands; saved in each checkpoint."""

    epoch: int = 0
    batch: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.batch += 1

    def end_epoch(self) -> dict[str, float]:
        """Means over the epoch's batches; the next epoch starts."""
        means = {f"train/{name}": value / self.batch for name, value in self.sums.items()}
        self.epoch, self.batch, self.sums = self.epoch + 1, 0, {}
        return means


class Loop:
    def __init__(
        self,
        training: Training,
        learner: Learner,
        data: Dataset,
        hardware: Hardware,
        seed: int,
        directory: RunDirectory,
        observer: Observer,
        checkpoint_seconds: float,
    ):
        self.training, self.learner, self.data, self.hardware = training, learner, data, hardware
        self.seed, self.directory, self.observer = seed, directory, observer
        self.checkpoint_seconds = checkpoint_seconds
        self.plan = training.plan(data)
        self.progress = Progress()
        self._saved_at = time.monotonic()

    def run(self) -> float:
        """Train to the end, from the last checkpoint if there is one; returns the seconds spent over all attempts."""
        self._resume()
        started = time.monotonic() - self.progress.seconds
        while self.progress.epoch < self.training.epochs:
            epoch = self.progress.epoch
            for batch in self.training.batches(self.data, self.seed, epoch, self.progress.batch):
                self._step(batch)
                self.progress.seconds = time.monotonic() - started
                self._checkpoint_if_due()
            with self.hardware.autocast():
                learned = self.learner.end_epoch(epoch)
            self._refuse_non_finite(learned)
            metrics = self.progress.end_epoch() | learned | self._validation(epoch)
            self.directory.append_metrics({"epoch": epoch, "step": self._steps_done(), **metrics})
            self.observer.epoch(epoch, metrics)
            self.progress.seconds = time.monotonic() - started
            self._checkpoint_if_due()
        return time.monotonic() - started

    def final_metrics(self) -> dict[str, float]:
        """What the last epoch logged; read from the log, so that it is there after any resume."""
        lines = self.directory.metrics()
        return {name: value for name, value in lines[-1].items() if name not in ("epoch", "step")} if lines else {}

    def predict(self, inputs: torch.Tensor) -> torch.Tensor:
        with self.hardware.autocast():
            return self.learner.predict(self.hardware.prepare_inputs(inputs))

    def _step(self, batch: Batch) -> None:
        with self.hardware.autocast():
            metrics = self.learner.step(Batch(self.hardware.prepare_inputs(batch.inputs), batch.targets))
        self.progress.add(metrics)
        self._refuse_non_finite(metrics)
        self.observer.step(self._steps_done(), self.plan.total_steps, metrics)

    def _refuse_non_finite(self, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise DivergedError(
                    f"{name} became {value} at step {self._steps_done()} of {self.plan.total_steps} "
                    f"(epoch {self.progress.epoch}): lower learner.learning_rate or look at {self.directory.path}",
                    {"step": self._steps_done(), "epoch": self.progress.epoch, "quantity": name, "value": str(value)},
                )

    def _validation(self, epoch: int) -> dict[str, float]:
        every, last = self.training.validate_every, epoch + 1 == self.training.epochs
        if self.data.validation is None or every == 0 or ((epoch + 1) % every and not last):
            return {}
        return evaluate(self.predict, self.data, self.data.validation, "validation", self.training.evaluation_batch_size)

    def _steps_done(self) -> int:
        return self.progress.epoch * self.plan.steps_per_epoch + self.progress.batch

    def _checkpoint_if_due(self) -> None:
        if time.monotonic() - self._saved_at >= self.checkpoint_seconds:
            self.save()

    def save(self) -> None:
        random = {"cpu": torch.get_rng_state()}
        if torch.cuda.is_available():
            random["cuda"] = torch.cuda.get_rng_state(torch.device(self.hardware.device))
        state = {"learner": self.learner.state_dict(), "progress": vars(self.progress), "random": random}
        self.directory.save_checkpoint(state)
        self._saved_at = time.monotonic()

    def _resume(self) -> None:
        state = self.directory.load_checkpoint()
        if state is None:
            return
        self.learner.load_state_dict(state["learner"])
        self.progress = Progress(**state["progress"])
        torch.set_rng_state(state["random"]["cpu"])
        if "cuda" in state["random"]:
            torch.cuda.set_rng_state(state["random"]["cuda"], torch.device(self.hardware.device))
