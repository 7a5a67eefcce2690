import numpy as np
import pytest
import torch

from emlp_rpp.errors import EmptyMapError
from emlp_rpp.groups import Lorentz, O, S, Sp
from emlp_rpp.representations import Scalar, T, V
from emlp_rpp.solver import equivariant_maps


@pytest.mark.parametrize("group", [O(3), S(3), Lorentz(), Sp(1)], ids=str)
def test_maps_commute_with_the_group(group):
    maps = (2 * V + T(2) + 3 * Scalar >> V + 2 * T(1, 1) + Scalar)(group)
    basis = equivariant_maps(maps)
    coefficients = torch.randn(basis.rank, dtype=torch.float64)
    weight = basis.combine(coefficients)
    assert weight.shape == maps.shape
    element = group.random_element(np.random.default_rng(2))
    source, target = (torch.tensor(each.matrix(element)) for each in (maps.source, maps.target))
    torch.testing.assert_close(weight @ source, target @ weight, atol=1e-10, rtol=0)
    torch.testing.assert_close(basis.coefficients(weight), coefficients)
    free = torch.randn(maps.shape, dtype=torch.float64)
    nearest = basis.project(free)
    torch.testing.assert_close(basis.project(nearest), nearest)
    assert abs(float(((free - nearest) * weight).sum())) < 1e-9  # an orthogonal projection


def test_deep_sets_and_graph_layers_have_their_ranks():
    assert equivariant_maps((V >> V)(S(4))).rank == 2
    assert equivariant_maps((T(2) >> T(2))(S(4))).rank == 15


def test_an_empty_map_says_what_to_do():
    maps = (2 * V >> Scalar)(O(3))
    with pytest.raises(
        EmptyMapError, match=r"no equivariant map 2\*V -> 1 for O\(3\) is linear except zero: use the bilinear"
    ):
        equivariant_maps(maps)
    assert equivariant_maps(maps, allow_empty=True).rank == 0
