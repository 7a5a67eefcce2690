import pytest

from emlp_rpp.groups import SO, SU, DirectProduct, Group, Lorentz, O, ProperOrthochronousLorentz, S, Sp
from emlp_rpp.networks import uniform_allocation
from emlp_rpp.networks.allocation import copies_per_rank
from symlab.errors import ConfigError


@pytest.mark.parametrize(
    ("group", "channels", "expected"),
    [
        (SO(3), 256, [70, 23, 7, 2]),
        (O(5), 384, [134, 25, 5]),
        (O(3), 384, [102, 34, 11, 3]),
        (SO(3), 128, [38, 12, 3, 1]),
        (O(1), 5, [3, 2]),
        (S(500), 384, [384]),
    ],
    ids=str,
)
def test_the_copies_of_each_rank_are_the_published_ones(group: Group, channels: int, expected: list[int]):
    representation = uniform_allocation(channels, group)
    assert [copies for copies, _ in representation.summands] == expected
    assert [len(term) for _, term in representation.summands] == list(range(len(expected)))
    assert representation.size == channels


def test_where_the_dual_differs_ranks_are_split_binomially():
    assert copies_per_rank(384, 4) == [112, 28, 6, 1]
    found = repr(uniform_allocation(384, ProperOrthochronousLorentz()))
    assert found == "112*1 + 14*V + 14*V* + 2*T(2) + 3*T(1,1) + T(0,2) + T(2,1)"
    assert repr(uniform_allocation(384, Lorentz())) == found


@pytest.mark.parametrize("group", [Sp(1), Sp(2), DirectProduct(S(3), O(2)), Lorentz()], ids=str)
@pytest.mark.parametrize("channels", [1, 2, 17, 100, 384])
def test_all_channels_are_used_in_canonical_order(group: Group, channels: int):
    representation = uniform_allocation(channels, group)
    assert representation.size == channels
    assert representation == representation.canonical


def test_what_does_not_fit_is_explained():
    with pytest.raises(ConfigError, match="0 channels do not fit"):
        uniform_allocation(0, SO(3))
    with pytest.raises(ConfigError, match="complex and networks are real"):
        uniform_allocation(10, SU(2))
