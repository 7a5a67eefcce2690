import itertools

import numpy as np
import pytest

from emlp_rpp.colours import BasisColours, colour_entries
from emlp_rpp.groups import P4, SO, Group, S, Translations, Z
from emlp_rpp.representations import T
from emlp_rpp.solver import invariant_basis


@pytest.mark.parametrize("group", [S(4), Z(4), Translations(2), P4(2)], ids=str)
def test_colours_of_permutations_are_the_orbits_of_index_pairs(group: Group):
    """The oracle closes every pair under the generators, one application at a time."""
    computed = BasisColours(group, 1, 1).compute()
    colours = computed.arrays["colours"]
    images = [matrix.argmax(0) for matrix in group.discrete]
    orbits = {}
    for pair in itertools.product(range(group.dimension), repeat=2):
        if pair in orbits:
            continue
        found, new = {pair}, [pair]
        while new:
            i, j = new.pop()
            for image in images:
                moved = (int(image[i]), int(image[j]))
                if moved not in found:
                    found.add(moved)
                    new.append(moved)
        orbits |= dict.fromkeys(found, len(set(orbits.values())))
    for first, second in itertools.combinations(orbits, 2):
        assert (orbits[first] == orbits[second]) == (colours[first] == colours[second])
    assert computed.metrics["rank"] == computed.metrics["colours"] == len(set(orbits.values()))


def test_entries_of_one_colour_agree_in_every_element_of_a_basis():
    basis = invariant_basis(T(4)(SO(3)))
    colours, rows = colour_entries(basis), basis.dense().numpy()
    for first, second in itertools.combinations(range(len(colours)), 2):
        same = np.allclose(rows[first], rows[second], atol=1e-10)
        assert same == (colours[first] == colours[second])
    assert np.array_equal(colours < 0, np.abs(rows).max(1) < 1e-12)
