import numpy as np
import torch

from symlab.data.circles import load_circles
from symlab.trainer.surface import decision_surface, is_planar


def test_the_surface_holds_what_is_predicted_at_its_points():
    data = load_circles(train_size=30, test_size=6)
    arrays = decision_surface(lambda points: torch.stack([points[:, 0], points[:, 1]], 1), data, 7, resolution=5)
    x, y = np.meshgrid(arrays["surface_x"], arrays["surface_y"])
    np.testing.assert_allclose(arrays["surface_probability"][..., 0], 1 / (1 + np.exp(y - x)), rtol=1e-5)
    assert arrays["surface_x"].max() > data.train.inputs.abs().max()
    assert arrays["points"].shape == (30, 2)
    assert arrays["point_targets"].shape == (30,)


def test_only_classes_of_points_have_one(blobs):
    assert is_planar(load_circles(train_size=6, test_size=6))
    assert not is_planar(blobs)
