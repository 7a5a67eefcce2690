"""Test metrics of a learner's predictions, computed batch by batch.

Classification, from log-probabilities log p(y | x):
    accuracy   share of inputs whose most probable class is the target; error is 1 - accuracy
    nll        -1/N sum_n log p(y_n | x_n)
    ece        sum_b |B_b|/N |accuracy(B_b) - confidence(B_b)| over 15 equal confidence bins (Guo et al., 2017)
Regression, from means f(x):
    rmse       sqrt(1/N sum_n |y_n - f(x_n)|^2), in units of the standardised target
    mse        1/(N D) sum_n |y_n - f(x_n)|^2, the mean over data points and the D outputs
"""

from collections.abc import Callable

import torch
from torch import Tensor

from symlab.data.dataset import Dataset, Split

ECE_BINS = 15


def expected_calibration_error(log_probabilities: Tensor, targets: Tensor, bins: int = ECE_BINS) -> float:
    confidence, predicted = log_probabilities.exp().max(-1)
    correct = (predicted == targets).double()
    # Bins are (0, 1/b], (1/b, 2/b], ...: a confidence of exactly 1 belongs to the last one.
    index = (confidence.double() * bins).ceil().long().clamp(1, bins) - 1
    gap = torch.zeros(bins, dtype=torch.float64, device=targets.device)
    gap.index_add_(0, index, correct - confidence.double())
    return (gap.abs().sum() / len(targets)).item()


def classification_metrics(log_probabilities: Tensor, targets: Tensor) -> dict[str, float]:
    """log_probabilities: (N, C), normalised; targets: (N,)."""
    chosen = log_probabilities.gather(1, targets[:, None]).double()
    accuracy = (log_probabilities.argmax(-1) == targets).double().mean().item()
    return {
        "accuracy": accuracy,
        "error": 1 - accuracy,
        "nll": -chosen.mean().item(),
        "ece": expected_calibration_error(log_probabilities, targets),
    }


def regression_metrics(means: Tensor, targets: Tensor) -> dict[str, float]:
    """means: (N, D); targets: (N, D), or (N,) where D is 1."""
    square = (means.double() - targets.double().reshape(means.shape)).square()
    return {"rmse": square.sum(-1).mean().sqrt().item(), "mse": square.mean().item()}


@torch.no_grad()
def evaluate(
    predict: Callable[[Tensor], Tensor], data: Dataset, split: Split, name: str, batch_size: int
) -> dict[str, float]:
    """Metrics of one split, keyed ``<name>/<quantity>``."""
    outputs = torch.cat([predict(data.normalise(inputs)) for inputs in split.inputs.split(batch_size)]).float()
    if data.n_classes:
        metrics = classification_metrics(outputs.log_softmax(-1), split.targets)
    else:
        metrics = regression_metrics(outputs, split.targets)
    return {f"{name}/{quantity}": value for quantity, value in metrics.items()}
