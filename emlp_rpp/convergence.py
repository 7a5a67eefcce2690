"""How fast iterations find the null space of the constraint C (thesis, appendix A.1.3 and Figure A.1).

    gradient descent     X <- X - eta C^T C X                     Eq. A.8, rate (kappa - 1) / (kappa + 1) with the best eta
    conjugate gradients  on |C x|^2, column by column             rate (sqrt(kappa) - 1) / (sqrt(kappa) + 1)

Both start from the same ``columns`` normal vectors and keep their part in the null space. Shown is |C X|_F / (s |X_0|_F)
with s the largest singular value of C; kappa = (largest / smallest non-zero singular value)^2, eta = 2 / (the sum of
both squares).
"""

import numpy as np
import torch
from torch import Tensor

from emlp_rpp.errors import ProblemTooLargeError
from emlp_rpp.groups import Group
from emlp_rpp.representations import T
from emlp_rpp.solver.constraint import Constraint
from symlab.computed import Computed

LARGEST_SIZE = 2_500  # coordinates; the spectrum of C^T C is computed whole
CONVERGED = 1e-12
_ZERO = 1e-9
_ROUNDING = 1e-15  # of the gradient, relative to the first one


def spectrum(constraint: Constraint) -> tuple[float, float, int]:
    """The largest and the smallest non-zero eigenvalue of C^T C, and how many vanish."""
    if constraint.size > LARGEST_SIZE:
        raise ProblemTooLargeError(
            f"{constraint.size:,} coordinates are too many for a whole spectrum: {LARGEST_SIZE:,} at most"
        )
    values = torch.linalg.eigvalsh(constraint.gram(torch.eye(constraint.size, dtype=constraint.dtype)))
    kept = values[values > _ZERO * values[-1]]
    return float(kept[-1]), float(kept[0]), len(values) - len(kept)


def residual(constraint: Constraint, vectors: Tensor, scale: float) -> float:
    return sum(float(image.square().sum()) for image in constraint.images(vectors)) ** 0.5 / scale


def descend(constraint: Constraint, start: Tensor, step: float, iterations: int, scale: float) -> list[float]:
    """Algorithm 1: the residuals after 0, 1, ... iterations."""
    vectors, found = start, [residual(constraint, start, scale)]
    for _ in range(iterations):
        vectors = vectors - step * constraint.gram(vectors)
        found.append(residual(constraint, vectors, scale))
    return found


def conjugate(constraint: Constraint, start: Tensor, iterations: int, scale: float) -> list[float]:
    """The residuals of conjugate gradients; a column whose gradient is only rounding stays as it is."""
    vectors, found = start.clone(), [residual(constraint, start, scale)]
    gradient = -constraint.gram(vectors)
    direction, square = gradient.clone(), gradient.square().sum(0)
    rounding = _ROUNDING**2 * square
    for _ in range(iterations):
        image = constraint.gram(direction)
        curvature = (direction * image).sum(0)
        active = (square > rounding) & (curvature > 0)
        step = torch.where(active, square / torch.where(active, curvature, 1.0), 0.0)
        vectors += step * direction
        gradient -= step * image
        renewed = gradient.square().sum(0)
        ratio = torch.where(active, renewed / torch.where(active, square, 1.0), 0.0)
        direction, square = gradient + ratio * direction, renewed
        found.append(residual(constraint, vectors, scale))
    return found


class Convergence:
    """Of T_(p, q) of a group, over ``iterations`` of both methods."""

    def __init__(self, group: Group, p: int, q: int = 0, columns: int = 20, iterations: int = 300):
        self.group, self.p, self.q, self.columns, self.iterations = group, p, q, columns, iterations

    def compute(self) -> Computed:
        constraint = Constraint(T(self.p, self.q)(self.group).term)
        largest, smallest, rank = spectrum(constraint)
        generator = torch.Generator().manual_seed(0)
        start = torch.randn(constraint.size, self.columns, generator=generator, dtype=torch.float64)
        scale = largest**0.5 * float(start.norm())
        descent = descend(constraint, start, 2 / (largest + smallest), self.iterations, scale)
        faster = conjugate(constraint, start, self.iterations, scale)
        metrics = {
            "rank": float(rank),
            "dimension": float(constraint.size),
            "condition": largest / smallest,
            "descent/residual": descent[-1],
            "conjugate/residual": faster[-1],
        }
        for name, found in (("descent", descent), ("conjugate", faster)):
            if min(found) < CONVERGED:  # otherwise there is no such number
                metrics[f"{name}/iterations"] = float(np.argmax(np.array(found) < CONVERGED))
        return Computed(metrics, arrays={"descent": np.array(descent), "conjugate": np.array(faster)})
