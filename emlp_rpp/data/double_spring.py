"""Two point masses on springs, the first one hung from the origin (thesis, section 2.7.2 and appendix A.1.10).

    H(x1, x2, p1, p2) = |p1|^2/2 + |p2|^2/2 + (|x1| - 1)^2/2 + (|x1 - x2| - 1)^2/2 + z1 + z2
    x1 ~ (0, 0, -1.5) + N(0, 0.2^2)^3,   x2 ~ (0, 0, -3) + N(0, 0.2^2)^3,   p1, p2 ~ N(0, 0.4^2)^3

All masses, spring constants and lengths are 1, g = (0, 0, 1). H is invariant under O(2), the rotations about the z axis and
the reflections of x: then dz/dt = J grad H has the angular momentum about z as an invariant of motion.

# Paper: the released code has no 1/2 at the second spring; this is the printed Hamiltonian.

Layout: a state is (x1, x2, p1, p2), 12 numbers; trajectories (N, times, 12), float64.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from torch import Tensor

from symlab.data.dataset import Dataset, Split
from symlab.errors import DataError

Array = NDArray[np.float64]

STATE_SIZE = 12
INTERVAL = 0.2  # seconds between two points of a trajectory
TOLERANCE = 1e-9
_POINTS = 150  # of 30 seconds
_BLOCK = 50  # trajectories integrated as one system


def hamiltonian(states: Array) -> Array:
    """(..., 12) -> (...)."""
    x1, x2, p1, p2 = (states[..., 3 * i : 3 * i + 3] for i in range(4))
    kinetic = ((p1**2).sum(-1) + (p2**2).sum(-1)) / 2
    stretched = np.linalg.norm(x1, axis=-1) - 1, np.linalg.norm(x1 - x2, axis=-1) - 1
    return kinetic + (stretched[0] ** 2 + stretched[1] ** 2) / 2 + x1[..., 2] + x2[..., 2]


def derivative(states: Array, force: Array | None = None) -> Array:
    """J grad H: (..., 12) -> (..., 12); ``force`` (3,) acts on both masses besides."""
    x1, x2, p1, p2 = (states[..., 3 * i : 3 * i + 3] for i in range(4))
    between = x1 - x2
    length, distance = (np.linalg.norm(vector, axis=-1, keepdims=True) for vector in (x1, between))
    first, second = (1 - 1 / length) * x1, (1 - 1 / distance) * between
    gravity = np.array([0.0, 0.0, 1.0])
    gravity = gravity if force is None else gravity - force
    return np.concatenate([p1, p2, -first - second - gravity, second - gravity], axis=-1)


def angular_momentum(states: Array) -> Array:
    """About the z axis, sum_i (x_i p_y - y_i p_x): (..., 12) -> (...)."""
    x, p = states[..., :6].reshape(*states.shape[:-1], 2, 3), states[..., 6:].reshape(*states.shape[:-1], 2, 3)
    return (x[..., 0] * p[..., 1] - x[..., 1] * p[..., 0]).sum(-1)


def initial_states(count: int, generator: np.random.Generator) -> Array:
    drawn = generator.standard_normal((count, STATE_SIZE))
    states = np.concatenate([0.2 * drawn[:, :6], 0.4 * drawn[:, 6:]], axis=1)
    states[:, 2] -= 1.5
    states[:, 5] -= 3.0
    return states


def integrate(states: Array, points: int, tolerance: float = TOLERANCE, force: Array | None = None) -> Array:
    """(N, 12) -> (N, points, 12) at 0, 0.2, 0.4, ... seconds, by Runge and Kutta's method of order 8."""
    times = INTERVAL * np.arange(points)
    parts = []
    for block in np.split(states, range(_BLOCK, len(states), _BLOCK)):
        solved = solve_ivp(
            lambda _, flat, shape=block.shape: derivative(flat.reshape(shape), force).reshape(-1),
            (0.0, times[-1]),
            block.reshape(-1),
            method="DOP853",
            t_eval=times,
            rtol=tolerance,
            atol=tolerance,
        )
        if not solved.success:
            raise DataError(f"the double spring could not be integrated: {solved.message}")
        parts.append(solved.y.reshape(*block.shape, points).transpose(0, 2, 1))
    return np.concatenate(parts)


@dataclass(frozen=True, kw_only=True)
class TrajectoryData(Dataset):
    """Inputs are the first states of chunks, targets the states after it, flattened. ``rollouts`` (N, times, 12), float64
    and on the CPU, are whole trajectories of the test set's initial conditions, ``interval`` seconds between two points."""

    rollouts: Tensor
    interval: float


def build(
    train_size: int = 500,
    validation_size: int = 500,
    test_size: int = 500,
    rollout_size: int = 500,
    chunk_points: int = 5,
    points: int = _POINTS,
    seed: int = 0,
) -> TrajectoryData:
    """Of each initial condition one of its chunks of ``chunk_points`` points, without overlap; ``rollout_size`` of the test
    trajectories are kept whole."""
    sizes = (train_size, validation_size, test_size)
    return draw("double spring pendulum", sizes, rollout_size, chunk_points, points, seed)


def draw(
    name: str,
    sizes: tuple[int, int, int],
    rollout_size: int,
    chunk_points: int,
    points: int,
    seed: int,
    force: Array | None = None,
) -> TrajectoryData:
    """``sizes``: of training, validation and test. The initial conditions do not depend on ``force``."""
    train_size, validation_size, test_size = sizes
    parts = {"train": train_size, "validation": validation_size, "test": test_size}
    if min(sizes) < 1 or not 1 <= rollout_size <= test_size:
        raise DataError(f"data sizes {parts} and data.rollout_size={rollout_size} do not fit: 1 to data.test_size rollouts")
    if not 2 <= chunk_points <= points:
        raise DataError(f"data.chunk_points={chunk_points} does not fit: 2 to data.points={points}")
    splits, rollouts = {}, torch.empty(0)
    for stream, (part, size) in enumerate(parts.items()):
        generator = np.random.default_rng((seed, stream))
        trajectories = integrate(initial_states(size, generator), points, force=force)
        starts = chunk_points * generator.integers(points // chunk_points, size=size)
        window = starts[:, None] + np.arange(chunk_points)
        chunks = torch.tensor(trajectories[np.arange(size)[:, None], window], dtype=torch.float32)
        splits[part] = Split(chunks[:, 0], chunks[:, 1:].flatten(1))
        rollouts = torch.tensor(trajectories[:rollout_size])
    return TrajectoryData(
        name=name,
        train=splits["train"],
        validation=splits["validation"],
        test=splits["test"],
        n_classes=0,
        mean=(0.0,) * STATE_SIZE,
        std=(1.0,) * STATE_SIZE,
        rollouts=rollouts,
        interval=INTERVAL,
    )
