"""One marginal-likelihood fit with its prior steps, measured in this process: ``python -m benchmarks.ella_fits <request>``.

The request is JSON: model (a configuration of conf/model), alpha, samples, implementation (ours | plain), threads, repeats.
The answer too: CPU seconds over all threads and the value that the fit ended with. Data are random images of 32 x 32 with
ten classes, since the cost does not depend on them.
"""

import json
import statistics
import sys
import time
from typing import Any

import torch
from torch import nn

from benchmarks.ella_plain import fit_and_optimise
from experiments.composition import compose_run
from experiments.run import build
from symlab.data.dataset import Dataset, Split
from symlab.trainer.descent import hyperparameter_names, weights_of
from symlab.trainer.laplace import DifferentiableLaplace
from symlab.trainer.protocol import TrainingPlan

PRIOR_STEPS = 20
PRIOR_LEARNING_RATE = 0.1
BATCH_SIZE = 150


def random_images(samples: int, resolution: int = 32) -> Dataset:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (samples, 3, resolution, resolution), generator=generator, dtype=torch.uint8)
    split = Split(images, torch.randint(10, (samples,), generator=generator))
    return Dataset("random images", split, None, split, n_classes=10, mean=(0.5,) * 3, std=(0.29,) * 3)


def build_model(name: str, alpha: int, data: Dataset) -> nn.Module:
    torch.manual_seed(0)
    config = compose_run([f"model={name}", f"model.alpha={alpha}"])
    return build(config.groups["model"], input_shape=data.input_shape, n_outputs=data.n_outputs)


def fit_ours(model: nn.Module, data: Dataset) -> float:
    """What ``DifferentiableLaplace`` does at the end of an epoch, on freshly made priors."""
    plan = TrainingPlan(len(data.train), BATCH_SIZE, epochs=1)
    learner = DifferentiableLaplace(
        model,
        plan,
        data,
        seed=0,
        prior_steps=PRIOR_STEPS,
        prior_learning_rate=PRIOR_LEARNING_RATE,
        final_prior_learning_rate=PRIOR_LEARNING_RATE,
        fit_batch_size=BATCH_SIZE,
    )
    laplace = learner.fit(epoch=0)
    learner.update_prior(laplace)
    return -laplace.log_marginal_likelihood().item()


def fit_plain(model: nn.Module, data: Dataset) -> float:
    model.eval()
    inputs = data.normalise(data.train.inputs)
    batches = list(zip(inputs.split(BATCH_SIZE), data.train.targets.split(BATCH_SIZE), strict=True))
    log_precision = torch.zeros(len(weights_of(model)), dtype=torch.float64, requires_grad=True)
    exclude = hyperparameter_names(model)
    return fit_and_optimise(model, batches, exclude, log_precision, PRIOR_STEPS, PRIOR_LEARNING_RATE)


def answer(request: dict[str, Any]) -> dict[str, float]:
    torch.set_num_threads(request["threads"])
    data = random_images(request["samples"])
    model = build_model(request["model"], request["alpha"], data)
    fit = {"ours": fit_ours, "plain": fit_plain}[request["implementation"]]
    seconds, value = [], 0.0
    for _ in range(request["repeats"]):
        started = time.process_time()  # of all threads
        value = fit(model, data)
        seconds.append(time.process_time() - started)
    return {"cpu_seconds": statistics.median(seconds), "first_cpu_seconds": seconds[0], "value": value}


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(sys.argv[1]))))
