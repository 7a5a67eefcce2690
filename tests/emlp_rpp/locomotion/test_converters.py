"""Quaternions against Rodrigues' formula, orders against loops."""

import numpy as np
from scipy.spatial.transform import Rotation

from emlp_rpp.locomotion.converters import SignedOrder, rotation_matrix


def test_an_order_with_signs_moves_single_coordinates_and_back():
    order = SignedOrder.of([2, 0, 1], negative=[0])
    x = np.arange(1.0, 7.0).reshape(2, 3)
    assert order.apply(x).tolist() == [[3, -1, 2], [6, -4, 5]]
    np.testing.assert_array_equal(order.undo(order.apply(x)), x)


def test_quaternions_of_any_length_become_rotations():
    quaternions = np.random.default_rng(0).standard_normal((5, 2, 4))
    found = rotation_matrix(quaternions)
    expected = Rotation.from_quat(np.roll(quaternions.reshape(-1, 4), -1, axis=1)).as_matrix()
    np.testing.assert_allclose(found.reshape(-1, 3, 3), expected, atol=1e-12)
    np.testing.assert_allclose(rotation_matrix(-quaternions), found, atol=1e-12)
    assert rotation_matrix(quaternions.astype(np.float32)).dtype == np.float32
