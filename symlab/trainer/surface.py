"""What a network says all over the plane, for data whose inputs are points (N, 2).

surface_x (R,), surface_y (R,), surface_probability (R, R, C)   p(class | x, y), row by row in y
points (N, 2), point_targets (N,)                               the training data
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from symlab.data.dataset import Dataset

RESOLUTION = 100
MARGIN = 1.2  # of the largest coordinate


@torch.no_grad()
def decision_surface(
    predict: Callable[[Tensor], Tensor], data: Dataset, batch_size: int, resolution: int = RESOLUTION
) -> dict[str, np.ndarray]:
    """``predict`` gives logits of normalised inputs; the square holds the training data with a margin."""
    points = data.train.inputs
    extent = MARGIN * points.abs().max().item()
    along = torch.linspace(-extent, extent, resolution, device=points.device)
    y, x = torch.meshgrid(along, along, indexing="ij")
    grid = torch.stack([x, y], -1).reshape(-1, 2)
    logits = torch.cat([predict(data.normalise(part)) for part in grid.split(batch_size)])
    probability = logits.double().softmax(-1).reshape(resolution, resolution, -1)
    arrays = {
        "surface_x": along,
        "surface_y": along,
        "surface_probability": probability,
        "points": points,
        "point_targets": data.train.targets,
    }
    return {name: value.cpu().numpy() for name, value in arrays.items()}


def is_planar(data: Dataset) -> bool:
    """Whether the inputs are points of the plane that belong to classes."""
    return data.input_shape == (2,) and data.n_classes > 0
