import pytest
import torch
from torch import Tensor

from emlp_rpp.errors import InputSizeError
from emlp_rpp.pathways import Convolution, GroupConvolution
from symlab.errors import ConfigError
from symlab.groups import C1, C2, C4, D1, D4, Element, Group, act, inverse, multiply

CASES = [(C4, C4), (D4, D4), (D4, C4), (D4, D1), (C4, C2), (C4, C1)]


def move(element: Element, features: Tensor, group: Group, channels: int) -> Tensor:
    """[a f](c, g, y) = f(c, a^-1 g, a^-1 y)."""
    apart = features.unflatten(1, (channels, len(group)))
    back = [group.position(multiply(inverse(element), g)) for g in group.elements]
    return act(element, apart[:, :, back]).flatten(1, 2)


@pytest.mark.parametrize(("group", "subgroup"), CASES, ids=lambda group: group.name)
@pytest.mark.parametrize("padding", ["zero", "circular"])
def test_it_commutes_with_the_subgroup_and_not_with_the_rest(group: Group, subgroup: Group, padding: str):
    torch.manual_seed(0)
    layer = GroupConvolution(2, 3, 5, group, subgroup, padding=padding).double()  # type: ignore[arg-type]
    x = torch.randn(2, 2 * len(group), 5, 5, dtype=torch.float64)
    for element in group.elements:
        error = (layer(move(element, x, group, 2)) - move(element, layer(x), group, 3)).abs().max().item()
        assert (error < 1e-12) == (element in subgroup.elements)


@pytest.mark.parametrize("group", [C4, D4], ids=str)
def test_lifting_commutes_with_the_group(group: Group):
    torch.manual_seed(0)
    layer = GroupConvolution(2, 3, 4, group, lifting=True).double()
    x = torch.randn(2, 2, 4, 4, dtype=torch.float64)
    for element in group.elements:
        torch.testing.assert_close(layer(act(element, x)), move(element, layer(x), group, 3))


def test_of_the_trivial_subgroup_it_is_a_convolution():
    torch.manual_seed(0)
    layer = GroupConvolution(2, 3, 4, C4, C1).double()
    plain = Convolution((8, 4, 4), 12).double()
    assert layer.weight.numel() == plain.weight.numel()
    plain.load_state_dict({"weight": layer.kernel().detach(), "bias": layer.expanded_bias().detach()})
    x = torch.randn(2, 8, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(layer(x), plain(x))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="D4 is no subgroup of C4"):
        GroupConvolution(1, 1, 4, C4, D4)
    with pytest.raises(InputSizeError, match=r"\(1, 3, 4, 4\) does not fit"):
        GroupConvolution(1, 1, 4, C4)(torch.zeros(1, 3, 4, 4))
