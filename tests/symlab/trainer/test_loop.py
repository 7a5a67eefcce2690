import math

import pytest
import torch

from symlab.errors import DivergedError
from symlab.models import MLP
from symlab.records import RunDirectory
from symlab.trainer.evaluation import evaluate
from symlab.trainer.hardware import Hardware
from symlab.trainer.loop import Loop, Training
from symlab.trainer.map import MAP


class Killed(BaseException):
    """Ends a run between two steps, as a kill would."""


class Watch:
    """Records what the loop reports and, if asked, ends it after a number of steps."""

    def __init__(self, kill_after: int | None = None):
        self.kill_after, self.steps, self.epochs = kill_after, [], []

    def step(self, done, total, metrics):
        self.steps.append((done, total))
        if done == self.kill_after:
            raise Killed

    def epoch(self, epoch, metrics):
        self.epochs.append(metrics)


def make_loop(data, path, watch=None, checkpoint_seconds=0.0, **training) -> Loop:
    torch.manual_seed(0)
    training = Training(**({"epochs": 3, "batch_size": 16, "validate_every": 1} | training))
    learner = MAP(MLP(data.input_shape, data.n_outputs, [8]), training.plan(data))
    directory = RunDirectory(path, "key")
    directory.path.mkdir(parents=True, exist_ok=True)
    return Loop(training, learner, data, Hardware(), 0, directory, watch or Watch(), checkpoint_seconds)


def result(loop: Loop) -> tuple[dict, list]:
    return evaluate(loop.predict, loop.data, loop.data.test, "test", 10), loop.directory.metrics()


@pytest.mark.parametrize("kill_after", [1, 3, 4, 5, 11])
def test_a_killed_run_ends_like_an_unbroken_one(blobs, tmp_path, kill_after):
    unbroken = make_loop(blobs, tmp_path / "unbroken", checkpoint_seconds=math.inf)
    unbroken.run()
    with pytest.raises(Killed):
        make_loop(blobs, tmp_path / "killed", Watch(kill_after)).run()
    resumed = make_loop(blobs, tmp_path / "killed", watch := Watch())
    resumed.run()
    assert result(resumed) == result(unbroken)
    assert watch.steps[0][0] == kill_after if kill_after > 1 else 1  # the killed step itself was not yet stored


def test_without_a_checkpoint_the_run_starts_again_with_an_empty_log(blobs, tmp_path):
    with pytest.raises(Killed):
        make_loop(blobs, tmp_path, Watch(9), checkpoint_seconds=math.inf).run()
    again = make_loop(blobs, tmp_path, watch := Watch())
    again.run()
    assert watch.steps[0] == (1, 12)
    assert [line["epoch"] for line in again.directory.metrics()] == [0, 1, 2]


def test_reports_means_of_the_epoch_and_validation(blobs, tmp_path):
    loop = make_loop(blobs, tmp_path, watch := Watch(), validate_every=2)
    loop.run()
    assert watch.steps == [(done, 12) for done in range(1, 13)]
    assert ["validation/accuracy" in metrics for metrics in watch.epochs] == [False, True, True]
    assert watch.epochs[0]["train/loss"] > watch.epochs[2]["train/loss"]


def test_a_loss_that_is_not_finite_stops_the_run(blobs, tmp_path):
    loop = make_loop(blobs, tmp_path)
    steps = iter(range(100))
    original = loop.learner.step
    loop.learner.step = lambda batch: {"loss": math.nan} if next(steps) == 5 else original(batch)
    with pytest.raises(DivergedError, match="loss became nan at step 6 of 12") as caught:
        loop.run()
    assert caught.value.details["quantity"] == "loss"


def test_float64_and_channels_last_reach_the_model(blobs, tmp_path):
    loop = make_loop(blobs, tmp_path)
    loop.hardware = Hardware(precision="float64", channels_last=True)
    loop.hardware.prepare_model(loop.learner.model)
    seen = []
    loop.learner.model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    loop.predict(blobs.normalise(blobs.test.inputs))
    assert seen[0].dtype == torch.float64
    assert seen[0].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("option", [{"epochs": -1}, {"batch_size": 0}, {"validate_every": -2}, {"evaluation_batch_size": 0}])
def test_sizes_that_make_no_sense_are_refused_by_name(option):
    with pytest.raises(Exception, match=f"trainer.{next(iter(option))}"):
        Training(**option)
