import pytest
import torch
from torch import Tensor, nn

from ella.layers import (
    DepthwiseSeparableGroupConvolution,
    GroupConvolution,
    PointwiseGroupConvolution,
    SeparableGroupConvolution,
)
from ella.layers.group_convolution import from_frames, lift, strongest_rotation, to_frames
from symlab.errors import ConfigError
from symlab.kfac import Classification, estimate
from tests.kfac_contract import Chain
from tests.oracles import dense_ggn, output_gradients

FORMS = [GroupConvolution, SeparableGroupConvolution, DepthwiseSeparableGroupConvolution, PointwiseGroupConvolution]


def rotated(features: Tensor) -> Tensor:
    """The action of a rotation by 90 degrees: maps turn, copies move on."""
    return features.rot90(1, (2, 3)).unflatten(1, (4, -1)).roll(1, 1).flatten(1, 2)


def randomised(layer: nn.Module) -> nn.Module:
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


def group_filter(layer: nn.Module, target: int, source: int, turn: int) -> Tensor:
    """theta(c', c, ., ., s) of any form, (3, 3), in the frame of the output copy. Separable forms have one spatial filter in
    the frame of each input copy, which is s turns on."""
    channels = layer.channels_in
    if isinstance(layer, GroupConvolution):
        return layer.convolution.weight[target, turn * channels + source]
    if isinstance(layer, PointwiseGroupConvolution):
        return layer.convolution.weight[target, source] * (turn == 0)
    spatial = turned_filter(layer.spatial.weight[source, 0], turn)
    if isinstance(layer, SeparableGroupConvolution):
        return spatial * layer.rotational.weight[target, turn * channels + source, 0, 0]
    return spatial * layer.rotational.weight[source, turn, 0, 0] * layer.channelwise.weight[target, source, 0, 0]


def turned_filter(filter_: Tensor, turn: int) -> Tensor:
    return filter_.rot90(turn, (0, 1))


@pytest.mark.parametrize("form", FORMS)
def test_equals_the_sum_over_the_group_written_out(form):
    """sum_{c, g} x(c, g) theta(c', c, g^-1 g'), App. A: filters of output copy r are turned by r, inputs copies r + s."""
    torch.manual_seed(0)
    layer = randomised(form(8, 12, 3, 3)).double()
    features = torch.randn(1, 8, 3, 3, dtype=torch.float64)
    offset = layer(torch.zeros_like(features))
    outputs = layer(features) - offset
    for turn in range(4):
        for target in range(3):
            expected = torch.zeros(3, 3, dtype=torch.float64)
            for step in range(4):
                for source in range(2):
                    kernel = turned_filter(group_filter(layer, target, source, step), turn)
                    image = features[0, ((turn + step) % 4) * 2 + source]
                    for i in range(3):
                        for j in range(3):
                            expected += kernel[i, j] * image.roll((1 - i, 1 - j), (0, 1))
            torch.testing.assert_close(outputs[0, turn * 3 + target], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_commutes_with_rotations_and_translations(form):
    torch.manual_seed(0)
    layer, features = randomised(form(8, 12, 4, 4)).double(), torch.randn(2, 8, 4, 4, dtype=torch.float64)
    outputs = layer(features)
    torch.testing.assert_close(layer(rotated(features)), rotated(outputs), rtol=1e-10, atol=1e-10)
    moved = layer(features.roll((1, 2), (2, 3)))
    torch.testing.assert_close(moved, outputs.roll((1, 2), (2, 3)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_pooling_commutes_with_rotations_up_to_a_translation(form):
    torch.manual_seed(0)
    layer, features = randomised(form(4, 8, 8, 4)).double(), torch.randn(1, 4, 8, 8, dtype=torch.float64)
    expected, found = rotated(layer(features)), layer(rotated(features))
    assert found.shape == (1, 8, 4, 4)
    shifts = [expected.roll((row, column), (2, 3)) for row in range(4) for column in range(4)]
    assert min((found - candidate).abs().max().item() for candidate in shifts) < 1e-10


def test_frames_are_four_turned_images_and_lead_back():
    images = torch.randn(3, 2, 4, 4)
    frames = to_frames(lift(images)).unflatten(0, (3, 4))
    for turn in range(4):
        assert torch.equal(frames[:, turn], images.rot90(-turn, (2, 3)))
    features = torch.randn(3, 8, 4, 4)
    assert torch.equal(from_frames(to_frames(features)), features)


def test_the_strongest_rotation_is_invariant():
    features = torch.randn(3, 8, 1, 1)
    assert strongest_rotation(features).shape == (3, 2, 1, 1)
    assert torch.equal(strongest_rotation(rotated(features)), strongest_rotation(features))


def convolutions(layer: nn.Module) -> dict[str, nn.Conv2d]:
    return {name: module for name, module in layer.named_modules() if isinstance(module, nn.Conv2d)}


@pytest.mark.parametrize("form", FORMS)
def test_curvature_reduces_over_the_group(form):
    """LILA Eq. 14 over the four frames: inputs averaged, gradients summed, then KFAC of each convolution over its positions.
    The bias, which every frame and position sees alike, is exact."""
    torch.manual_seed(0)
    model = Chain(form(8, 8, 4, 4), (8, 4, 4)).double()
    inputs, targets = torch.randn(3, 8, 4, 4, dtype=torch.float64), torch.arange(3)
    blocks = estimate(model, Classification(), [(inputs, targets)]).blocks
    hessians = Classification().hessian(model(inputs)).detach()
    for name, module in convolutions(model.layer).items():
        seen, gradients = output_gradients(model, module, inputs, lambda output: output.flatten(2))
        assert len(seen) == 12
        mean = seen.unflatten(0, (3, 4)).mean(1)
        total = gradients.unflatten(0, (3, 4)).sum(1)  # (N, K, c', L)
        half = module.kernel_size[0] // 2
        padded = nn.functional.pad(mean, (half,) * 4, mode="circular")
        patches = nn.functional.unfold(padded, module.kernel_size).unflatten(1, (module.groups, -1))  # (N, p, D, L)
        expected = []
        for group, part in enumerate(total.chunk(module.groups, 2)):
            left = torch.einsum("ndl,nel->de", patches[:, group], patches[:, group])
            right = torch.einsum("nkel,nkm,nmfl->ef", part, hessians, part)
            expected.append(torch.kron(right, left) / (3 * 16))
        found = blocks[f"layer.{name}.weight"].dense()
        torch.testing.assert_close(found, torch.block_diag(*expected), rtol=1e-8, atol=1e-8)
        bias = f"layer.{name}.bias"
        dense = dense_ggn(model, Classification(), inputs, [bias])
        torch.testing.assert_close(blocks[bias].dense(), dense, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_keeps_the_variance_of_a_layer_before_a_relu(form):
    torch.manual_seed(0)
    outputs = form(64, 256, 8, 8)(torch.randn(16, 64, 8, 8))
    assert 1.2 < outputs.square().mean().item() < 3.2


def test_channels_without_copies_are_refused():
    with pytest.raises(ConfigError, match="RotationNetwork"):
        GroupConvolution(3, 8, 4, 4)
