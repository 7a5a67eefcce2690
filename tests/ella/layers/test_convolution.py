import torch

from ella.layers import Convolution


def test_equals_the_circular_sum_written_out():
    """ELLA Eq. 3, one output at a time."""
    layer = Convolution(2, 3, 4, 4).double()
    features = torch.randn(1, 2, 4, 4, dtype=torch.float64)
    outputs = layer(features)
    weight, bias = layer.convolution.weight, layer.convolution.bias
    for channel in range(3):
        for row in range(4):
            for column in range(4):
                total = bias[channel].clone()
                for source in range(2):
                    for i in range(3):
                        for j in range(3):
                            value = features[0, source, (row + i - 1) % 4, (column + j - 1) % 4]
                            total = total + weight[channel, source, i, j] * value
                torch.testing.assert_close(outputs[0, channel, row, column], total, rtol=1e-12, atol=1e-12)


def test_is_equivariant_to_translations():
    layer, features = Convolution(2, 5, 8, 8), torch.randn(3, 2, 8, 8)
    torch.testing.assert_close(layer(features.roll((3, 6), (2, 3))), layer(features).roll((3, 6), (2, 3)))


def test_halves_the_extent_by_pooling():
    assert Convolution(2, 5, 8, 4)(torch.randn(3, 2, 8, 8)).shape == (3, 5, 4, 4)
