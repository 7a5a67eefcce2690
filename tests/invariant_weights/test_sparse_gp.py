"""The SGPR baseline against the collapsed bound written out with dense matrices."""

import math

import pytest
import torch

from invariant_weights.sparse_gp import JITTER, SparseGP, SparseGPRegression
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.protocol import Learner, TrainingPlan
from tests.contracts import LearnerContract


class TestSparseGP(LearnerContract):
    epochs = 10
    batch_size = 60

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return SparseGPRegression(SparseGP(data.input_shape, data.n_outputs, inducing_points=10), plan, data, 0)


def test_bound_and_mean_written_out(blobs):
    torch.manual_seed(0)
    model = SparseGP((1, 4, 4), 3, inducing_points=8).double()
    inputs, others = torch.randn(15, 16).double(), torch.randn(5, 16).double()
    targets = torch.eye(3).double()[torch.arange(15) % 3]
    with torch.no_grad():
        model.inducing.copy_(torch.randn(8, 16))
        for parameter, value in [(model.log_variance, 0.7), (model.log_noise, 0.2), (model.log_lengthscale, 2.0)]:
            parameter.fill_(math.log(value))  # in float64, where the constructor's are rounded to float32
        model.mean.fill_(1 / 3)
    inducing = model.inducing.detach()

    def kernel(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return 0.7 * torch.exp(-0.5 * torch.cdist(left, right).square() / 2.0**2)

    inner = torch.linalg.inv(kernel(inducing, inducing) + 0.7 * JITTER * torch.eye(8).double())
    low_rank = kernel(inputs, inducing) @ inner @ kernel(inducing, inputs)
    noisy = low_rank + 0.2 * torch.eye(15).double()
    normal = torch.distributions.MultivariateNormal(torch.full((15,), 1 / 3).double(), noisy)
    expected = sum(normal.log_prob(targets[:, c]) for c in range(3))
    expected = expected - 3 / (2 * 0.2) * (0.7 * 15 - low_rank.trace())
    torch.testing.assert_close(model.log_bound(inputs, targets), expected, rtol=1e-8, atol=1e-8)
    mean = kernel(others, inducing) @ inner @ kernel(inducing, inputs) @ torch.linalg.solve(noisy, targets - 1 / 3) + 1 / 3
    torch.testing.assert_close(model.posterior_mean(others, inputs, targets), mean, rtol=1e-8, atol=1e-8)


def test_parts_of_the_data_are_refused(blobs):
    with pytest.raises(ConfigError, match=r"trainer\.batch_size=20"):
        SparseGPRegression(SparseGP((1, 4, 4), 3, 10), TrainingPlan(60, 20, 1), blobs, 0)
    with pytest.raises(ConfigError, match=r"model\.inducing_points=90"):
        SparseGPRegression(SparseGP((1, 4, 4), 3, 90), TrainingPlan(60, 60, 1), blobs, 0)
