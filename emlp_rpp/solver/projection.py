"""The null space of C for any group: dense for small problems, else random vectors projected by conjugate gradients.

Minimising |C x|^2 from a random start z by conjugate gradients changes x only within the range of C^H: the limit is the
part of z in the null space, whatever the rank, at the rate (sqrt(kappa) - 1) / (sqrt(kappa) + 1) with kappa the condition
of the non-zero spectrum; the thesis' gradient descent (Algorithm 1) has (kappa - 1) / (kappa + 1). With b random vectors
the limits have rank min(b, r). b grows until SPARE singular values vanish: then the null space has been caught whole
(with probability 1), never a part of it."""

import torch
from torch import Tensor

from emlp_rpp.errors import ProblemTooLargeError, UnresolvedRankError
from emlp_rpp.solver.basis import Certificate, DenseBasis
from emlp_rpp.solver.constraint import Constraint
from emlp_rpp.solver.highest_weights import Gap

DENSE_ENTRIES = 3_000_000
SPARE = 5
FIRST_BLOCK = 16
MAXIMAL_ITERATIONS = 5_000
TOLERANCE = 1e-13
_WORKSPACE = 8  # blocks alive at once


def solve_densely(constraint: Constraint) -> DenseBasis:
    """One singular value decomposition of C."""
    gap = Gap()
    _, values, right = torch.linalg.svd(constraint.dense, full_matrices=True)
    basis = right[gap.decide(values.numpy()) :].mH.contiguous()
    return DenseBasis(basis, Certificate("singular values", constraint.residual(basis), gap.ratio))


def project_to_null_space(constraint: Constraint, start: Tensor) -> Tensor:
    """Conjugate gradients on |C x|^2, every column on its own."""
    scale = largest_eigenvalue(constraint)
    x = start.clone()
    residual = -constraint.gram(x)
    direction = residual.clone()
    square = (residual.conj() * residual).real.sum(0)
    target = (TOLERANCE * scale) ** 2 * (x.conj() * x).real.sum(0)
    for _ in range(MAXIMAL_ITERATIONS):
        active = square > target
        if not active.any():
            return x
        image = constraint.gram(direction)
        curvature = (direction.conj() * image).real.sum(0)
        step = torch.where(active & (curvature > 0), square / curvature.clamp_min(1e-300), 0.0)
        x += step * direction
        residual -= step * image
        renewed = (residual.conj() * residual).real.sum(0)
        direction = residual + torch.where(active, renewed / square.clamp_min(1e-300), 0.0) * direction
        square = torch.where(active, renewed, square)
    raise UnresolvedRankError(
        f"{MAXIMAL_ITERATIONS} iterations did not bring the constraint of {constraint.size:,} coordinates below "
        f"{TOLERANCE:.0e}"
    )


def largest_eigenvalue(constraint: Constraint, iterations: int = 20) -> float:
    """Of C^H C, by power iteration: a scale for tolerances."""
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(constraint.size, 1, generator=generator, dtype=torch.float64).to(constraint.dtype)
    value = 0.0
    for _ in range(iterations):
        vector = vector / vector.norm().clamp_min(1e-300)
        vector = constraint.gram(vector)
        value = float(vector.norm())
    return max(value, 1e-300)


def solve_by_projection(constraint: Constraint, limit_bytes: int) -> DenseBasis:
    """Grow the block of random vectors until it is larger than the rank by ``SPARE``."""
    generator = torch.Generator().manual_seed(0)
    width = min(FIRST_BLOCK, constraint.size)
    found = torch.zeros(constraint.size, 0, dtype=constraint.dtype)
    while True:
        needed = _WORKSPACE * constraint.size * (width + found.shape[1]) * found.element_size()
        if needed > limit_bytes:
            raise ProblemTooLargeError(
                f"{constraint.size:,} coordinates with a rank of at least {found.shape[1]:,} need {needed / 2**30:.1f} GiB, "
                f"more than the limit of {limit_bytes / 2**30:.1f} GiB; no partial basis is returned"
            )
        start = torch.randn(constraint.size, width, generator=generator, dtype=torch.float64).to(constraint.dtype)
        start = torch.linalg.qr(start - found @ (found.mH @ start))[0] * constraint.size**0.5
        projected = project_to_null_space(constraint, start)
        projected = projected - found @ (found.mH @ projected)
        left, values, _ = torch.linalg.svd(projected, full_matrices=False)
        gap = Gap()
        kept = gap.decide(values.numpy())
        found = torch.cat([found, left[:, :kept]], dim=1)
        if width - kept >= min(SPARE, constraint.size - found.shape[1]):
            break
        width = min(2 * found.shape[1] + SPARE, constraint.size - found.shape[1])
        if width == 0:
            break
    basis = torch.linalg.qr(project_to_null_space(constraint, found))[0] if found.shape[1] else found
    return DenseBasis(basis, Certificate("projected random vectors", constraint.residual(basis), gap.ratio))


def solve_generally(constraint: Constraint, limit_bytes: int) -> DenseBasis:
    rows = len(constraint.discrete) + len(constraint.algebra)
    if rows * constraint.size**2 <= DENSE_ENTRIES:
        return solve_densely(constraint)
    return solve_by_projection(constraint, limit_bytes)
