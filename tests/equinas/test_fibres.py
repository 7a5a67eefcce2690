import pytest
import torch

from equinas.fibres import act_on_features, blocks, coset_of, coset_order, cosets_split
from symlab.errors import ConfigError
from symlab.groups import C1, C4, D4, GROUPS, multiply, representatives
from tests.equinas.cases import PAIRS


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_cosets_of_the_channels(group):
    order, size = coset_order(group, D4), len(group)
    assert sorted(order) == list(range(8))
    for position, coset in enumerate(coset_of(group, D4)):
        assert position in order[coset * size : (coset + 1) * size]


@pytest.mark.parametrize(("group", "subgroup"), PAIRS, ids=str)
def test_every_coset_of_a_subgroup_is_part_of_one_of_the_group(group, subgroup):
    for part, whole in zip(representatives(subgroup, D4), cosets_split(group, subgroup, D4), strict=True):
        coset = {multiply(element, representatives(group, D4)[whole]) for element in group.elements}
        assert {multiply(element, part) for element in subgroup.elements} <= coset


def test_the_action_on_features_is_one():
    features = torch.randn(2, 16, 3, 3)
    for first in D4.elements:
        for second in D4.elements:
            one_by_one = act_on_features(first, act_on_features(second, features, D4), D4)
            assert torch.equal(act_on_features(multiply(first, second), features, D4), one_by_one)


def test_channels_must_fit_the_group():
    assert blocks(12, C4) == 3
    assert blocks(7, C1) == 7
    with pytest.raises(ConfigError, match="no multiple of 8"):
        blocks(12, D4)
