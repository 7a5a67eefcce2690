import torch

from ella.layers import FullyConnected


def test_is_one_matrix_between_flattened_feature_maps():
    """ELLA Eq. 1 with the matrix read off column by column."""
    layer = FullyConnected(2, 3, 4, 2).double()
    offset = layer(torch.zeros(1, 2, 4, 4, dtype=torch.float64))
    features = torch.randn(1, 2, 4, 4, dtype=torch.float64)
    total = offset.clone()
    for index in range(32):
        unit = torch.zeros(32, dtype=torch.float64)
        unit[index] = 1
        total += features.flatten()[index] * (layer(unit.view(1, 2, 4, 4)) - offset)
    torch.testing.assert_close(layer(features), total)
    assert layer(features).shape == (1, 3, 2, 2)
