import math

import pytest
import torch

from symlab.data.dataset import Dataset, Split
from symlab.trainer.evaluation import classification_metrics, evaluate, expected_calibration_error, regression_metrics


def random_predictions(count: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    logits = 2 * torch.randn(count, 5, generator=generator, dtype=torch.float64)
    return logits.log_softmax(-1), torch.randint(0, 5, (count,), generator=generator)


def test_classification_metrics_match_sums_written_out():
    log_probabilities, targets = random_predictions()
    correct, nll = 0, 0.0
    for row, target in zip(log_probabilities.tolist(), targets.tolist(), strict=True):
        correct += max(range(5), key=row.__getitem__) == target
        nll -= row[target]
    metrics = classification_metrics(log_probabilities, targets)
    assert metrics["accuracy"] == pytest.approx(correct / 200, abs=1e-12)
    assert metrics["error"] == pytest.approx(1 - correct / 200, abs=1e-12)
    assert metrics["nll"] == pytest.approx(nll / 200, rel=1e-12)


def test_calibration_error_matches_bins_written_out():
    log_probabilities, targets = random_predictions()
    error = 0.0
    for lower in range(15):
        inside = []
        for row, target in zip(log_probabilities.exp().tolist(), targets.tolist(), strict=True):
            if lower / 15 < max(row) <= (lower + 1) / 15:
                inside.append((float(row[target] == max(row)), max(row)))
        error += abs(sum(hit - confidence for hit, confidence in inside)) / 200
    assert expected_calibration_error(log_probabilities, targets) == pytest.approx(error, rel=1e-10)


def test_a_certain_and_right_prediction_is_calibrated():
    assert expected_calibration_error(torch.tensor([[0.0, -math.inf]]), torch.tensor([0])) == 0.0
    assert expected_calibration_error(torch.tensor([[0.0, -math.inf]]), torch.tensor([1])) == 1.0


def test_errors_of_two_outputs():
    metrics = regression_metrics(torch.zeros(2, 2), torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert metrics["rmse"] == pytest.approx(math.sqrt(12.5))
    assert metrics["mse"] == pytest.approx(25 / 4)


def test_batches_do_not_change_the_result(blobs: Dataset):
    weight = torch.randn(16, 3, generator=torch.Generator().manual_seed(0))

    def predict(inputs: torch.Tensor) -> torch.Tensor:
        return inputs.flatten(1) @ weight

    whole = evaluate(predict, blobs, blobs.test, "test", batch_size=1000)
    parts = evaluate(predict, blobs, blobs.test, "test", batch_size=7)
    assert set(whole) == {"test/accuracy", "test/error", "test/nll", "test/ece"}
    assert parts == pytest.approx(whole)


def test_regression_data_gives_its_errors():
    split = Split(torch.randn(8, 3), torch.zeros(8))
    data = Dataset("line", split, None, split, n_classes=0, mean=(0.0,) * 3, std=(1.0,) * 3, notes=())
    metrics = evaluate(lambda inputs: torch.ones(len(inputs), 1), data, split, "test", batch_size=3)
    assert metrics == {"test/rmse": 1.0, "test/mse": 1.0}
