"""Backward signals: the vectors v_k whose backpropagation gives the curvature, sum_k v_k v_k^T = Lambda (or its estimate).

ggn         the columns of a root of Lambda(f): exact, K = C - 1 for classification
mc          k samples y ~ p(y | f): v = d log p(y | f)/df / sqrt(k), the Monte-Carlo Fisher matrix, whose mean is the GGN
empirical   the data's own labels: v = d log p(y | f)/df, K = 1
"""

from typing import Literal

import torch
from torch import Tensor

from symlab.errors import ConfigError
from symlab.kfac.likelihoods import Likelihood

Kind = Literal["ggn", "mc", "empirical"]


def backward_signals(kind: Kind, likelihood: Likelihood, outputs: Tensor, targets: Tensor, samples: int) -> Tensor:
    """(K, N, C), differentiable in the outputs."""
    if kind == "ggn":
        return likelihood.hessian_root(outputs).permute(2, 0, 1)
    if kind == "empirical":
        return likelihood.score(outputs, targets)[None]
    if kind == "mc":
        if samples < 1:
            raise ConfigError(f"samples={samples} does not fit: at least one sample is needed")
        drawn = [likelihood.score(outputs, likelihood.sample(outputs.detach())) for _ in range(samples)]
        return torch.stack(drawn) / samples**0.5
    raise ConfigError(f"kind={kind!r} is unknown: choose ggn, mc or empirical")
