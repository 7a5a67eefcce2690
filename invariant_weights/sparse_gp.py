"""Sparse Gaussian process regression on class indicators, the SGPR baseline of Table 2, by gpytorch (an extra: ``gp``).

Titsias' collapsed bound with M inducing inputs, one GP for each class with common kernel and noise:

    sum_c log N( y_c | m_c, Q + s^2 I ) - C / (2 s^2) tr(K - Q),      Q = K_nm K_mm^-1 K_mn,      y_nc = [class of n is c]

Kernel (RBF with a scale), noise, means and inducing inputs are learnt by Adam on all data at once; predictions are the C
posterior means, whose largest names the class. Kernels, low-rank algebra and the trace term are gpytorch's.
"""

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from symlab.data.dataset import Dataset
from symlab.errors import ConfigError, DependencyError
from symlab.trainer.batches import derived_generator
from symlab.trainer.descent import cosine_annealed
from symlab.trainer.protocol import Batch, TrainingPlan


def import_gpytorch() -> ModuleType:
    """gpytorch is needed by this baseline only, so it is an extra."""
    try:
        import gpytorch
    except ImportError as error:
        raise DependencyError(
            "model=sparse_gp needs gpytorch, which is not installed: run `pip install gpytorch`"
        ) from error
    module: ModuleType = gpytorch
    return module


class SparseGP(nn.Module):
    """``lengthscale``, ``noise`` (a variance) and the data's own inputs as inducing ones are where learning starts."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        inducing_points: int = 500,
        lengthscale: float = 5.0,
        noise: float = 0.1,
    ):
        super().__init__()
        gpytorch = import_gpytorch()
        self.n_outputs = n_outputs
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self.likelihood.noise = noise
        base = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        base.base_kernel.lengthscale = lengthscale
        inducing = torch.zeros(inducing_points, math.prod(input_shape))
        self.kernel = gpytorch.kernels.InducingPointKernel(base, inducing, self.likelihood)
        self.mean = nn.Parameter(torch.full((n_outputs,), 1 / n_outputs))

    def noisy_covariance(self, inputs: Tensor) -> Any:
        """Q + s^2 I of inputs (N, D), lazily: a linear operator of low rank plus a diagonal."""
        return self.kernel(inputs).add_diagonal(self.likelihood.noise.squeeze())

    def log_bound(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The collapsed bound of inputs (N, D) and indicators (N, C); the kernel is in training mode."""
        residuals = targets - self.mean
        quadratic, log_det = self.noisy_covariance(inputs).inv_quad_logdet(residuals, logdet=True)
        trace_term = sum(term.loss() for term in self.kernel.added_loss_terms())
        normal = log_det + len(inputs) * math.log(2 * math.pi)
        return -0.5 * (quadratic + self.n_outputs * normal) + self.n_outputs * trace_term

    def posterior_mean(self, inputs: Tensor, seen: Tensor, targets: Tensor) -> Tensor:
        """Means (B, C) at inputs (B, D) after seeing (N, D) with indicators (N, C); the kernel is in evaluation mode."""
        with import_gpytorch().settings.sgpr_diagonal_correction(False):  # it would make another model of it (FITC)
            solved = self.noisy_covariance(seen).solve(targets - self.mean)
            return self.kernel(inputs, seen) @ solved + self.mean


class SparseGPRegression:
    """A step is one of Adam on all data, so a batch must hold all of it."""

    def __init__(
        self,
        model: SparseGP,
        plan: TrainingPlan,
        data: Dataset,
        seed: int,
        learning_rate: float = 0.05,
        final_learning_rate: float = 0.0,
    ):
        if plan.batch_size < plan.train_size:
            raise ConfigError(
                f"trainer.batch_size={plan.batch_size} does not fit: the bound of sparse GP regression is of all data at "
                f"once; give {plan.train_size} or more"
            )
        self.model, self.plan, self.data = model, plan, data
        self.rates = (learning_rate, final_learning_rate)
        inducing = model.kernel.inducing_points
        if len(inducing) > len(data.train):
            raise ConfigError(f"model.inducing_points={len(inducing)} does not fit: there are {len(data.train)} data points")
        chosen = torch.randperm(len(data.train), generator=derived_generator(seed, "inducing"))[: len(inducing)]
        with torch.no_grad():
            inducing.copy_(self._rows(data.train.inputs[chosen.to(data.train.inputs.device)]))
        self.optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
        self.steps_done = 0

    def step(self, batch: Batch) -> dict[str, float]:
        for group in self.optimizer.param_groups:
            group["lr"] = cosine_annealed(*self.rates, self.steps_done, self.plan.total_steps)
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = -self.model.log_bound(batch.inputs.flatten(1), self._indicators(batch.targets)) / len(batch.targets)
        loss.backward()
        self.optimizer.step()
        self.steps_done += 1
        return {"loss": loss.item()}

    def end_epoch(self, epoch: int) -> dict[str, float]:
        return {}

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> Tensor:
        self.model.train()  # leaving training mode drops what the kernel remembers of other inputs
        self.model.eval()
        train = self.data.train
        return self.model.posterior_mean(inputs.flatten(1), self._rows(train.inputs), self._indicators(train.targets))

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "steps_done": self.steps_done,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps_done = state["steps_done"]

    def _rows(self, inputs: Tensor) -> Tensor:
        return self.data.normalise(inputs).flatten(1).to(self.model.mean.dtype)

    def _indicators(self, targets: Tensor) -> Tensor:
        return functional.one_hot(targets, self.model.n_outputs).to(self.model.mean.dtype)
