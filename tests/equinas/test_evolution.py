import itertools

from equinas.evolution import dominates, mutations, pareto_front, select
from symlab.groups import C1, C2, C4, D1, D2, D4, GROUPS


def allowed(groups) -> bool:
    """Each layer's group is a subgroup of all preceding layers' groups."""
    return all(later <= earlier for earlier, later in itertools.combinations(groups, 2))


def test_at_first_only_the_last_layer_can_be_relaxed():
    assert set(mutations([D4, D4, D4])) == {(2, C4), (2, D2)}


def test_inner_layers_follow_where_later_ones_allow_it():
    assert set(mutations([D4, D4, C4])) == {(1, C4), (2, C2)}
    assert set(mutations([D4, D2, C1])) == {(0, D2), (1, D1), (1, C2)}
    assert mutations([C1, C1]) == []


def test_every_mutation_keeps_the_constraint_and_none_is_left_out():
    """Against all ways to replace one group, sorted out by the definition, for all architectures of three layers."""
    for groups in itertools.product(GROUPS, repeat=3):
        if not allowed(groups):
            continue
        expected = set()
        for layer, smaller in itertools.product(range(3), GROUPS):
            changed = (*groups[:layer], smaller, *groups[layer + 1 :])
            one_step = smaller < groups[layer] and not any(smaller < between < groups[layer] for between in GROUPS)
            if one_step and allowed(changed):
                expected.add((layer, smaller))
        assert set(mutations(groups)) == expected


def test_the_front_is_what_nobody_dominates():
    costs = [(0.1, 50.0), (0.2, 20.0), (0.2, 30.0), (0.3, 10.0), (0.05, 90.0), (0.4, 10.0)]
    assert pareto_front(costs) == [0, 1, 3, 4]
    assert not dominates((0.1, 5.0), (0.1, 5.0))


def test_the_front_survives_as_a_whole_and_is_filled_up_by_accuracy():
    costs = [(0.1, 50.0), (0.2, 20.0), (0.12, 60.0), (0.11, 70.0), (0.5, 90.0)]
    assert pareto_front(costs) == [0, 1]
    assert select(costs, 3) == [0, 3, 1]
    assert select(costs, 1) == [0, 1]
    assert select(costs, 9) == [0, 3, 2, 1, 4]
