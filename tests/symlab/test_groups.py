import itertools

import pytest
import torch

from symlab.errors import ConfigError
from symlab.groups import (
    C1,
    C2,
    C4,
    D1,
    D2,
    D4,
    GROUPS,
    NEUTRAL,
    act,
    common_subgroup,
    cyclic,
    dihedral,
    factor,
    inverse,
    maximal_subgroups,
    multiply,
    named,
    pixel_sources,
    representatives,
    subgroups,
)

PAIRS = [(small, large) for small in GROUPS for large in GROUPS if small <= large]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_elements_are_closed_with_inverses(group):
    for first, second in itertools.product(group.elements, repeat=2):
        assert multiply(first, second) in group.elements
    assert all(multiply(element, inverse(element)) == NEUTRAL for element in group.elements)
    assert group.elements[0] == NEUTRAL
    assert len(set(group.elements)) == len(group)


def test_products_act_one_after_the_other():
    image = torch.arange(2 * 9).view(2, 3, 3)
    for first, second in itertools.product(D4.elements, repeat=2):
        assert torch.equal(act(multiply(first, second), image), act(first, act(second, image)))
    assert len({tuple(act(element, image).flatten().tolist()) for element in D4.elements}) == 8


@pytest.mark.parametrize("extent", [2, 3, 5])
def test_the_action_as_an_index(extent):
    image = torch.randn(extent, extent)
    for element in D4.elements:
        found = image.flatten()[list(pixel_sources(element, extent))].view(extent, extent)
        assert torch.equal(found, act(element, image))


def test_the_lattice():
    assert [len(group) for group in (C1, D1, C2, D2, C4, D4)] == [1, 2, 2, 4, 4, 8]
    steps = {str(group): {str(smaller) for smaller in maximal_subgroups(group)} for group in GROUPS}
    assert steps == {"C1": set(), "D1": {"C1"}, "C2": {"C1"}, "D2": {"D1", "C2"}, "C4": {"C2"}, "D4": {"D2", "C4"}}
    assert subgroups(D2) == (C1, D1, C2, D2)
    assert common_subgroup((C4, D2)) == C2
    assert common_subgroup((D1, C4)) == C1


@pytest.mark.parametrize(("small", "large"), PAIRS, ids=str)
def test_every_element_is_one_of_the_subgroup_times_one_representative(small, large):
    chosen = representatives(small, large)
    assert chosen[0] == NEUTRAL
    assert len(chosen) * len(small) == len(large)
    products = {multiply(element, representative) for element in small.elements for representative in chosen}
    assert products == set(large.elements)
    for element in large.elements:
        part, representative = factor(element, small, large)
        assert part in small.elements
        assert representative in chosen
        assert multiply(part, representative) == element


def test_groups_by_name_and_order():
    assert named("D2") is D2
    assert cyclic(4) == C4
    assert dihedral(1) == D1
    with pytest.raises(ConfigError, match="C8"):
        named("C8")
    with pytest.raises(ConfigError, match="pixel grid"):
        cyclic(3)
    with pytest.raises(ConfigError, match="no subgroup"):
        representatives(C4, D2)
