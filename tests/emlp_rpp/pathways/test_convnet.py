import pytest
import torch
from torch import nn

from emlp_rpp.pathways import PathwayConvNet, PathwayPrior
from emlp_rpp.pathways.convnet import FoldedRows
from symlab.errors import ConfigError

BOTH, CONVOLUTIONS, FREE = PathwayPrior(1e5, 1.0), PathwayPrior(1e5, 0.0), PathwayPrior(0.0, 1.0)


def test_without_residual_variance_it_is_a_convolutional_network():
    torch.manual_seed(0)
    ours = PathwayConvNet((2, 6, 6), 3, CONVOLUTIONS, channels=(4, 5), pooled_after=(1,), strides=(1, 2)).double()
    theirs = nn.Sequential(
        *(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 5, 3, padding=1, stride=2), nn.BatchNorm2d(5), nn.ReLU(), nn.Flatten(), nn.Linear(20, 3)),
    ).double()
    theirs.load_state_dict(dict(zip(theirs.state_dict(), ours.state_dict().values(), strict=True)))
    x = torch.randn(4, 2, 6, 6, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x))


def test_without_equivariant_variance_it_is_the_mlp_of_the_same_widths():
    torch.manual_seed(0)
    options = {"channels": (4, 5), "normalisation": "none", "image_shape": (3, 3)}
    ours = PathwayConvNet((8,), 1, FREE, **options).double()
    linear = [nn.Linear(9, 36), nn.ReLU(), nn.Linear(36, 45), nn.ReLU(), nn.Linear(45, 1)]
    theirs = nn.Sequential(*linear).double()
    theirs.load_state_dict(dict(zip(theirs.state_dict(), ours.state_dict().values(), strict=True)))
    x = torch.randn(4, 8, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(torch.cat([x, torch.zeros(4, 1, dtype=torch.float64)], 1)))


def test_with_both_it_is_their_sum_layer_by_layer():
    torch.manual_seed(0)
    ours = PathwayConvNet((1, 4, 4), 2, BOTH, channels=(3,), normalisation="none", padding="circular").double()
    layer = ours.features[0]
    x = torch.randn(4, 1, 4, 4, dtype=torch.float64)
    features = torch.relu(layer.equivariant(x) + layer.residual(x))
    torch.testing.assert_close(ours(x), ours.output(features.flatten(1)))


def test_rows_are_folded_row_by_row():
    folded = FoldedRows(5, (2, 3))(torch.arange(1.0, 6.0)[None])
    assert folded.tolist() == [[[[1.0, 2.0, 3.0], [4.0, 5.0, 0.0]]]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_shape": (10,), "image_shape": (3, 3)}, "rows have 10 entries"),
        ({"input_shape": (10,)}, "rows need one"),
        ({"input_shape": (1, 4, 4), "strides": (1,)}, "one of each per layer"),
        ({"input_shape": (1, 4, 4), "pooled_after": (3,)}, "layers 1 to 2"),
        ({"input_shape": (1, 1, 1), "pooled_after": (1,)}, "nothing is left to pool"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        PathwayConvNet(n_outputs=2, prior=BOTH, channels=(2, 2), **options)
