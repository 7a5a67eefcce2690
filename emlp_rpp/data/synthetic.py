"""Functions with a known symmetry, sampled (thesis, section 2.7.1, appendix A.1.10 and A.2.3.1).

    O5Invariant   2 V -> scalar          f = sin|x1| - |x2|^3 / 2 + x1.x2 / (|x1| |x2|)
    Inertia       5 scalars + 5 V -> T2  I = sum_i m_i (x_i.x_i 1 - x_i x_i^T)
    ModifiedInertia   the same types     I + 0.3 I^2 z z^T I, z the unit vector of the third axis: O(3) is broken
    Scattering    4 V -> scalar          4 [p^(m p'^n) - (p.p' - p.p) eta^mn] [q_(m q'_n) - (q.q' - q.q) eta_mn]

Layout: inputs (N, D) float64, scalars first, then the vectors one after the other; targets (N, E), a matrix row by row.
The k-th row of a sample does not depend on how many are drawn, so smaller training sets are parts of larger ones.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from emlp_rpp.groups.orthogonal import signature
from symlab.data.dataset import Dataset, Split
from symlab.errors import DataError

Array = NDArray[np.float64]

STATISTICS_SIZE = 20_000
_STREAMS = {"train": 0, "validation": 1, "test": 2, "statistics": 3}


class Task(Protocol):
    """``sample`` draws inputs, ``targets`` computes the function, ``scale`` is a size of inputs that the group leaves as it
    is (None: they stay as drawn, and so do the targets)."""

    name: str

    def sample(self, count: int, generator: np.random.Generator) -> Array: ...

    def targets(self, inputs: Array) -> Array: ...

    def scale(self, inputs: Array) -> float | None: ...


@dataclass(frozen=True)
class O5Invariant:
    """x1, x2 ~ N(0, 1)^5."""

    name = "O(5) invariant"

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        return generator.standard_normal((count, 10))

    def targets(self, inputs: Array) -> Array:
        first, second = inputs[:, :5], inputs[:, 5:]
        length, other = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
        cosine = (first * second).sum(1) / (length * other)
        return (np.sin(length) - other**3 / 2 + cosine)[:, None]

    def scale(self, inputs: Array) -> float:
        """The root mean square of a coordinate."""
        return float(np.sqrt((inputs**2).mean()))


@dataclass(frozen=True)
class Inertia:
    """x_i ~ N(0, 1)^3, m_i = log(1 + exp(N(0, 1))), i = 1 .. 5."""

    name = "O(3) inertia"

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        drawn = generator.standard_normal((count, 20))
        return np.concatenate([np.logaddexp(0.0, drawn[:, :5]), drawn[:, 5:]], axis=1)

    def targets(self, inputs: Array) -> Array:
        masses, positions = inputs[:, :5], inputs[:, 5:].reshape(-1, 5, 3)
        spread = np.einsum("ni,nia,nia->n", masses, positions, positions)
        outer = np.einsum("ni,nia,nib->nab", masses, positions, positions)
        return (spread[:, None, None] * np.eye(3) - outer).reshape(-1, 9)

    def scale(self, inputs: Array) -> None:
        return None


@dataclass(frozen=True)
class ModifiedInertia(Inertia):
    """Inertia with a term that knows the z axis.

    ``form``  "printed"    I + strength I^2 z z^T I
              "released"   I + strength (I z) z^T
    # Paper: prints the first, of the third power in I; the released code has the second, of the first power.
    """

    strength: float = 0.3
    form: Literal["printed", "released"] = "printed"

    name = "modified inertia"

    def targets(self, inputs: Array) -> Array:
        inertia = super().targets(inputs).reshape(-1, 3, 3)
        row = inertia[:, 2, :]  # z^T I; I is symmetric, so I z too
        if self.form == "printed":
            added = np.einsum("nab,nb,nc->nac", inertia, row, row)
        else:
            added = row[:, :, None] * np.array([0.0, 0.0, 1.0])
        return (inertia + self.strength * added).reshape(-1, 9)


@dataclass(frozen=True)
class Scattering:
    """Four momenta p, p', q, q' ~ N(0, 1/4^2)^4 in this order, eta = diag(1, -1, -1, -1).

    # Paper: p^(m p'^n) is half the sum over both orders; the released code leaves the product as it is.
    """

    name = "Lorentz scattering"

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        return generator.standard_normal((count, 16)) / 4

    def targets(self, inputs: Array) -> Array:
        p, p_out, q, q_out = np.moveaxis(inputs.reshape(-1, 4, 4), 1, 0)
        first, second = minkowski(p, p_out) - minkowski(p, p), minkowski(q, q_out) - minkowski(q, q)
        crossed = minkowski(p, q) * minkowski(p_out, q_out) + minkowski(p, q_out) * minkowski(p_out, q)
        traces = second * minkowski(p, p_out) + first * minkowski(q, q_out)
        return 4 * (crossed / 2 - traces + 4 * first * second)[:, None]

    def scale(self, inputs: Array) -> float:
        """From |x^T eta x|: a Euclidean length would not be left as it is by boosts."""
        momenta = inputs.reshape(-1, 4, 4)
        return float(np.sqrt(np.abs(minkowski(momenta, momenta)).mean() / 4))


def minkowski(first: Array, second: Array) -> Array:
    return (first * signature(1, 3) * second).sum(-1)


def build(task: Task, train_size: int, validation_size: int = 1000, test_size: int = 5000, seed: int = 0) -> Dataset:
    """Inputs divided by the task's scale and targets standardised, by constants of the task: they come from a sample of
    their own, so errors of all training sets are in one unit."""
    for name, size in {"train": train_size, "validation": validation_size, "test": test_size}.items():
        if size < 1:
            raise DataError(f"data.{name}_size={size} does not fit: at least 1 is needed")

    def draw(stream: str, count: int) -> tuple[Array, Array]:
        inputs = task.sample(count, np.random.default_rng((seed, _STREAMS[stream])))
        return inputs, task.targets(inputs)

    inputs, targets = draw("statistics", STATISTICS_SIZE)
    scale = task.scale(inputs)
    mean, std = (0.0, 1.0) if scale is None else (float(targets.mean()), float(targets.std()))

    def split(stream: str, count: int) -> Split:
        inputs, targets = draw(stream, count)
        return Split(torch.tensor(inputs, dtype=torch.float32), torch.tensor((targets - mean) / std, dtype=torch.float32))

    columns = inputs.shape[1]
    return Dataset(
        name=task.name,
        train=split("train", train_size),
        validation=split("validation", validation_size),
        test=split("test", test_size),
        n_classes=0,
        mean=(0.0,) * columns,
        std=(scale or 1.0,) * columns,
        target_mean=mean,
        target_std=std,
    )
