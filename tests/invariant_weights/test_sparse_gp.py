"""The SGPR baseline against the collapsed bound written out with dense matrices. Needs the extra ``gp``."""

import builtins
import math

import pytest
import torch

from invariant_weights.sparse_gp import SparseGP, SparseGPRegression
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError, DependencyError
from symlab.trainer.protocol import Learner, TrainingPlan
from tests.contracts import LearnerContract


def test_without_gpytorch_the_message_says_what_to_install(monkeypatch):
    present = builtins.__import__

    def without_gpytorch(name, *arguments, **keywords):
        if name == "gpytorch":
            raise ImportError(name)
        return present(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_gpytorch)
    with pytest.raises(DependencyError, match="pip install gpytorch"):
        SparseGP((1, 4, 4), 3)


class TestSparseGP(LearnerContract):
    epochs = 10
    batch_size = 60

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        pytest.importorskip("gpytorch")
        return SparseGPRegression(SparseGP(data.input_shape, data.n_outputs, inducing_points=10), plan, data, 0)


def test_bound_and_mean_written_out(blobs):
    pytest.importorskip("gpytorch")
    torch.manual_seed(0)
    model = SparseGP((1, 4, 4), 3, inducing_points=8, lengthscale=2.0, noise=0.2).double()
    inputs, others = torch.randn(15, 16).double(), torch.randn(5, 16).double()
    targets = torch.eye(3).double()[torch.arange(15) % 3]
    with torch.no_grad():
        model.kernel.inducing_points.copy_(torch.randn(8, 16))
    inducing = model.kernel.inducing_points.detach()

    def kernel(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return math.log(2) * torch.exp(-0.5 * torch.cdist(left, right).square() / 2.0**2)  # softplus(0), gpytorch's start

    inner = torch.linalg.inv(kernel(inducing, inducing))
    low_rank = kernel(inputs, inducing) @ inner @ kernel(inducing, inputs)
    noisy = low_rank + 0.2 * torch.eye(15).double()
    normal = torch.distributions.MultivariateNormal(torch.full((15,), 1 / 3).double(), noisy)
    expected = sum(normal.log_prob(targets[:, c]) for c in range(3))
    expected = expected - 3 / (2 * 0.2) * (math.log(2) * 15 - low_rank.trace())
    model.train()
    torch.testing.assert_close(model.log_bound(inputs, targets), expected, rtol=1e-4, atol=1e-4)  # gpytorch adds jitter
    model.eval()
    mean = kernel(others, inducing) @ inner @ kernel(inducing, inputs) @ torch.linalg.solve(noisy, targets - 1 / 3) + 1 / 3
    torch.testing.assert_close(model.posterior_mean(others, inputs, targets), mean, rtol=1e-4, atol=1e-4)


def test_parts_of_the_data_are_refused(blobs):
    pytest.importorskip("gpytorch")
    with pytest.raises(ConfigError, match=r"trainer\.batch_size=20"):
        SparseGPRegression(SparseGP((1, 4, 4), 3, 10), TrainingPlan(60, 20, 1), blobs, 0)
    with pytest.raises(ConfigError, match=r"model\.inducing_points=90"):
        SparseGPRegression(SparseGP((1, 4, 4), 3, 90), TrainingPlan(60, 60, 1), blobs, 0)
