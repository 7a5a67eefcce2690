"""Sparse Gaussian process regression on class indicators, the SGPR baseline of Table 2.

Titsias' collapsed bound with M inducing inputs, one GP for each class with common kernel and noise:

    sum_c log N( y_c | m_c, Q + s^2 I ) - C / (2 s^2) tr(K - Q),      Q = K_nm K_mm^-1 K_mn,      y_nc = [class of n is c]

With K_mm = L L^T, V = L^-1 K_mn / s and B = I + V V^T all of it takes factors of M x M matrices,

    log |Q + s^2 I| = N log s^2 + log |B|,     y^T (Q + s^2 I)^-1 y = |y|^2 / s^2 - |L_B^-1 V y / s|^2,

at N M^2 operations, in float64. (Libraries solve with Q + s^2 I by conjugate gradients; at their tolerance predictions from
10000 digits were worse than from 2000.) Kernel (RBF with a variance), noise, means and inducing inputs are learnt by Adam on
all data at once; predictions are the C posterior means, whose largest names the class.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.linalg import solve_triangular
from torch.nn import functional

from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.trainer.batches import derived_generator
from symlab.trainer.descent import cosine_annealed
from symlab.trainer.protocol import Batch, TrainingPlan

JITTER = 1e-6  # added to the diagonal of K_mm, in units of the kernel's variance


class SparseGP(nn.Module):
    """``lengthscale``, ``noise`` (a variance), a kernel of variance 1 and the data's own inputs as inducing ones are where
    learning starts."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        inducing_points: int = 500,
        lengthscale: float = 5.0,
        noise: float = 0.1,
    ):
        super().__init__()
        for name, value in {"lengthscale": lengthscale, "noise": noise}.items():
            if not value > 0:
                raise ConfigError(f"model.{name}={value} does not fit: give a positive number")
        self.n_outputs = n_outputs
        self.log_lengthscale = nn.Parameter(torch.tensor(math.log(lengthscale)))
        self.log_noise = nn.Parameter(torch.tensor(math.log(noise)))
        self.log_variance = nn.Parameter(torch.zeros(()))
        self.inducing = nn.Parameter(torch.zeros(inducing_points, math.prod(input_shape)))
        self.mean = nn.Parameter(torch.full((n_outputs,), 1 / n_outputs))

    def log_bound(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The collapsed bound of inputs (N, D) and indicators (N, C)."""
        count, log_noise, residuals = len(inputs), self.log_noise.double(), targets.double() - self.mean.double()
        _, scaled, outer, weighted = self._factors(inputs, residuals)
        log_det = count * (log_noise + math.log(2 * math.pi)) + 2 * outer.diagonal().log().sum()
        fit = residuals.square().sum() / log_noise.exp() - weighted.square().sum()
        left_out = count * (self.log_variance.double() - log_noise).exp() - scaled.square().sum()
        return -0.5 * (fit + self.n_outputs * (log_det + left_out))

    def posterior_mean(self, inputs: Tensor, seen: Tensor, targets: Tensor) -> Tensor:
        """Means (B, C) at inputs (B, D) after seeing (N, D) with indicators (N, C)."""
        mean = self.mean.double()
        inner, _, outer, weighted = self._factors(seen, targets.double() - mean)
        solved = solve_triangular(inner.mT, solve_triangular(outer.mT, weighted, upper=True), upper=True)
        return (self._kernel(inputs.double(), self.inducing.double()) @ solved + mean).to(self.mean.dtype)

    def _factors(self, inputs: Tensor, residuals: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """L with K_mm = L L^T, V = L^-1 K_mn / s, the Cholesky factor of B = I + V V^T, and its solution c of V y / s."""
        inducing, deviation = self.inducing.double(), (0.5 * self.log_noise.double()).exp()
        identity = torch.eye(len(inducing), dtype=torch.float64, device=inducing.device)
        inner = torch.linalg.cholesky(
            self._kernel(inducing, inducing) + JITTER * self.log_variance.double().exp() * identity
        )
        scaled = solve_triangular(inner, self._kernel(inducing, inputs.double()), upper=False) / deviation
        outer = torch.linalg.cholesky(identity + scaled @ scaled.mT)
        weighted = solve_triangular(outer, scaled @ residuals / deviation, upper=False)
        return inner, scaled, outer, weighted

    def _kernel(self, left: Tensor, right: Tensor) -> Tensor:
        """(A, D), (B, D) -> (A, B). Squared distances by one matrix product: their rounding is far below the jitter."""
        squares = left.square().sum(-1)[:, None] + right.square().sum(-1) - 2 * left @ right.mT
        return (self.log_variance.double() - 0.5 * squares.clamp(min=0) * (-2 * self.log_lengthscale.double()).exp()).exp()


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
        inducing = model.inducing
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
