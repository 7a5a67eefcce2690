"""One hyperparameter step of LILA, measured in a process of its own: ``python -m benchmarks.lila_steps '<request>'``.

The step is what the learner does at the end of an epoch: the fit of the averaged network, the gradient in eta, one step of
eta and one of the prior precision. The answer is one line of JSON: CPU seconds over all threads, the bytes by which memory
rises at the peak, and the gradient in eta.
"""

import json
import sys
import time
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.lila_plain import plain_gradient
from benchmarks.measuring import measure_extra_memory
from lila.affine import AffineDistribution
from lila.learner import LILA
from symlab.data.dataset import Dataset, Split
from symlab.trainer.batches import derived_generator
from symlab.trainer.hardware import Hardware
from symlab.trainer.protocol import TrainingPlan

SAMPLES = 31
ETA = (0.1, 0.1, 0.5, 0.1, 0.1, 0.1)
BATCH = 250
WARM_UP = 4  # data points


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 1000), nn.Tanh(), nn.Linear(1000, 10))


def convolutional() -> nn.Module:
    """Pooling before tanh: the same function, since tanh is monotonous, on a quarter of the values."""
    first: list[nn.Module] = [nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.Tanh()]
    second: list[nn.Module] = [nn.Conv2d(6, 16, 3), nn.MaxPool2d(2), nn.Tanh()]
    third: list[nn.Module] = [nn.Conv2d(16, 120, 5), nn.Tanh(), nn.Flatten(), nn.Linear(120, 84), nn.Tanh()]
    return nn.Sequential(*first, *second, *third, nn.Linear(84, 10))


NETWORKS = {"mlp": perceptron, "cnn": convolutional}


def random_images(count: int) -> Dataset:
    """Blurred noise of the size of MNIST: like digits, neighbouring pixels are alike."""
    generator = torch.Generator().manual_seed(0)
    images = nn.functional.avg_pool2d(torch.rand(count, 1, 32, 32, generator=generator), 5, stride=1)
    images = ((images - 0.3) * 600).clamp(0, 255).to(torch.uint8)
    split = Split(images, torch.randint(10, (count,), generator=generator))
    return Dataset("random", split, None, split, n_classes=10, mean=(0.0,), std=(1.0,))


def build(network: str, count: int) -> LILA:
    torch.manual_seed(0)
    data = random_images(count)
    plan = TrainingPlan(count, count, epochs=2)
    distribution = partial(AffineDistribution, ETA)
    return LILA(NETWORKS[network](), plan, data, 0, distribution, SAMPLES, burn_in=1, fit_size=None, fit_batch_size=BATCH)


def step_of_ours(network: str, count: int, gradients: list[Tensor]) -> None:
    learner = build(network, count)
    found = learner.ascent.gradient
    learner.ascent.gradient = lambda *given: _kept(found(*given), gradients)  # type: ignore[method-assign]
    learner.end_epoch(0)


def _kept(found: list[Tensor], gradients: list[Tensor]) -> list[Tensor]:
    gradients.append(found[0])
    return found


def step_of_plain(network: str, count: int, gradients: list[Tensor], dtype: torch.dtype = torch.float32) -> None:
    """The gradient in eta alone, of the same data, copies and weights."""
    learner = build(network, count)
    inputs, targets = learner.data.normalise(learner.data.train.inputs).to(dtype), learner.data.train.targets
    noise = torch.cat(
        [
            learner.distribution.noise(len(part), SAMPLES, derived_generator(0, "view of the fit", 0, index))
            for index, part in enumerate(targets.split(BATCH))
        ]
    )
    assert isinstance(learner.distribution, AffineDistribution)
    model = learner.model.to(dtype)
    gradients.append(plain_gradient(model, learner.distribution, inputs, targets, noise, precision=1.0))


def step_of_exact(network: str, count: int, gradients: list[Tensor]) -> None:
    step_of_plain(network, count, gradients, torch.float64)


STEPS = {"ours": step_of_ours, "plain": step_of_plain, "exact": step_of_exact}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    Hardware(threads=request["threads"]).prepare_process()  # as our learners train
    step = STEPS[request["implementation"]]
    step(request["network"], WARM_UP, [])  # loads what torch loads at its first use
    gradients: list[Tensor] = []
    seconds: list[float] = []

    def timed() -> None:  # without what is done to measure memory
        started = time.process_time()
        step(request["network"], request["count"], gradients)
        seconds.append(time.process_time() - started)

    extra = measure_extra_memory(timed)
    return {"cpu_seconds": seconds[0], "bytes": extra, "gradient": gradients[-1].tolist()}


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(sys.argv[1]))))
