"""The double spring pendulum in the wind (thesis, appendix A.2.3.1).

    H = H_0 + epsilon H_1,     H_1 = -w.x1 - w.x2,     w = (-8, -5, 0),     epsilon = 0.01

H_0 is that of ``double_spring``. The wind is a constant force epsilon w on both masses and breaks the symmetry O(2) about
the z axis; epsilon is called ``wind``. Without wind the trajectories are those of ``double_spring`` for the same seed.
"""

import math

import numpy as np

from emlp_rpp.data.double_spring import TrajectoryData, draw
from symlab.errors import DataError

DIRECTION = (-8.0, -5.0, 0.0)


def build(
    wind: float = 0.01,
    train_size: int = 500,
    validation_size: int = 500,
    test_size: int = 500,
    rollout_size: int = 500,
    chunk_points: int = 5,
    points: int = 150,
    seed: int = 0,
) -> TrajectoryData:
    """Arguments besides ``wind`` as of ``double_spring.build``."""
    if not math.isfinite(wind):
        raise DataError(f"data.wind={wind} does not fit: a finite number is needed")
    sizes = (train_size, validation_size, test_size)
    force = wind * np.array(DIRECTION)
    return draw(f"pendulum in a wind of {wind:g}", sizes, rollout_size, chunk_points, points, seed, force)
