r"""Two classes of rings in the plane, of which only a sector is seen while training (LILA Fig. 1): ``float32 (N, 2)``.

    class 0: radius 0.5,   class 1: a third of it around the centre, the rest at radius 1

    x = (cos t, sin t) * (r + noise * e),   e ~ N(0, I) for each coordinate;   around the centre x = noise * e

The angle t is uniform in [0, ``degrees``] for training. Test points lie all around, so that accuracy on them says whether a
network has learned that angles do not matter.
"""

import math

import torch
from torch import Tensor

from symlab.data.dataset import Dataset, Split
from symlab.data.subsets import stream
from symlab.errors import DataError


def load_circles(
    train_size: int = 200, test_size: int = 1000, degrees: float = 120.0, noise: float = 0.06, seed: int = 0
) -> Dataset:
    for name, value in (("train_size", train_size), ("test_size", test_size)):
        if value < 6:
            raise DataError(f"data.{name}={value} is too small for three rings: give 6 or more")
    if not 0 < degrees <= 360:
        raise DataError(f"data.degrees={degrees} does not fit: give an angle above 0 and up to 360")
    train = _draw(train_size, math.radians(degrees), noise, stream(seed, "circles/train"))
    test = _draw(test_size, 2 * math.pi, noise, stream(seed, "circles/test"))
    return Dataset("circles", train, None, test, 2, (0.0, 0.0), (1.0, 1.0))


def _draw(count: int, angle: float, noise: float, generator: torch.Generator) -> Split:
    """Half of the points in class 0; of the others a third around the centre."""
    middle = count // 2
    outer = (count - middle) * 2 // 3
    centre = count - middle - outer
    points = torch.cat(
        [
            _ring(middle, 0.5, angle, noise, generator),
            noise * torch.randn(centre, 2, generator=generator),
            _ring(outer, 1.0, angle, noise, generator),
        ]
    )
    return Split(points, (torch.arange(count) >= middle).long())


def _ring(count: int, radius: float, angle: float, noise: float, generator: torch.Generator) -> Tensor:
    """Noise multiplies each coordinate, so that it is smallest where the ring crosses an axis."""
    t = angle * torch.rand(count, generator=generator)
    direction = torch.stack([t.cos(), t.sin()], 1)
    return direction * (radius + noise * torch.randn(count, 2, generator=generator))
