"""How far a rollout is from the truth (thesis, appendix A.1.9).

relative error (a, b) = |a - b| / (|a| + |b|)                  between 0 and 1
geometric mean        = exp mean log max(error, 1e-7)          over times and trajectories
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST = 1e-7


def relative_error(predicted: Array, true: Array) -> Array:
    """(..., n) -> (...). A prediction out of the range of numbers has the error 1, the limit for large ones."""
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.linalg.norm(predicted - true, axis=-1)
        sizes = np.linalg.norm(predicted, axis=-1) + np.linalg.norm(true, axis=-1)
        error = np.divide(distance, sizes, out=np.zeros_like(distance), where=sizes != 0)
    return np.where(np.isfinite(error), error, 1.0)


def log_error(error: Array) -> Array:
    return np.log(np.maximum(error, SMALLEST))


def geometric_mean(error: Array) -> float:
    return float(np.exp(log_error(error).mean()))
