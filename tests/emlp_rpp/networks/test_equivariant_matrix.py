import pytest
import torch

from emlp_rpp.errors import EmptyMapError
from emlp_rpp.groups import SO, DirectProduct, Group, Lorentz, O, S, Sp
from emlp_rpp.networks import EquivariantMatrix
from emlp_rpp.representations import Scalar, T, V
from emlp_rpp.solver import equivariant_maps

GROUPS = [O(3), SO(3), S(4), Lorentz(), Sp(1), DirectProduct(S(3), O(2))]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_setting_is_the_projection_by_the_dense_basis(group: Group):
    maps = (2 * V + Scalar + T(2) + V >> T(2) + 3 * V + 2 * Scalar)(group)
    matrix = EquivariantMatrix(maps).double()
    free = torch.randn(maps.shape, dtype=torch.float64)
    matrix.set_nearest(free)
    basis = equivariant_maps(maps)
    assert matrix.rank == basis.rank
    dense = torch.stack([basis.combine(row).reshape(-1) for row in torch.eye(basis.rank, dtype=torch.float64)])
    torch.testing.assert_close(matrix().reshape(-1), dense.mT @ (dense @ free.reshape(-1)))


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_any_coefficients_give_an_element_of_the_dense_span(group: Group):
    maps = (2 * V + T(2) + Scalar >> V + 2 * T(2))(group)
    matrix = EquivariantMatrix(maps).double()
    torch.nn.init.normal_(matrix.coefficients)
    torch.testing.assert_close(equivariant_maps(maps).project(matrix().detach()), matrix().detach())


def test_multiplicities_share_one_small_basis():
    matrix = EquivariantMatrix((40 * T(2) >> 30 * T(2))(O(3)))
    assert matrix.bases.numel() == 81 * 3
    assert matrix.coefficients.numel() == 30 * 40 * 3


def test_components_hold_all_that_is_not_zero():
    maps = (3 * Scalar + 2 * V + T(2) + T(3) >> 2 * Scalar + V + 2 * T(2) + T(3))(O(3))
    matrix = EquivariantMatrix(maps).double()
    torch.nn.init.normal_(matrix.coefficients)
    assert matrix.components == [((0, 2), (0, 2)), ((1, 3), (1, 3))]  # even and odd tensors
    blocks = matrix.assemble(matrix.components)
    torch.testing.assert_close(sum(block.square().sum() for block in blocks), matrix().square().sum())


@pytest.mark.parametrize("group", [O(3), S(4), SO(4)], ids=str)
def test_a_step_of_adam_is_as_long_as_that_of_a_projected_matrix(group: Group):
    """The reference's parameter is the whole matrix; the first step of Adam moves each entry by the sign of its gradient."""
    maps = (2 * V + T(2) >> V + T(2))(group)
    matrix = EquivariantMatrix(maps).double()
    direction = torch.randn(maps.shape, dtype=torch.float64)
    basis = equivariant_maps(maps)
    projected = basis.project(direction)
    expected = basis.project(torch.where(projected.abs() > 1e-9, projected.sign(), 0.0)).norm()
    (matrix() * direction).sum().backward()
    assert matrix.coefficients.grad is not None
    with torch.no_grad():
        matrix.coefficients.copy_(matrix.coefficients.grad.sign())
    assert 0.6 < float(matrix().detach().norm() / expected) < 1.8


def test_bases_are_never_rounded():
    matrix = EquivariantMatrix((T(2) >> T(2))(SO(3)))
    exact = matrix.bases.clone()
    matrix = matrix.float().double()
    assert torch.equal(matrix.bases, exact)
    assert matrix.float()().dtype == torch.float32


def test_an_empty_map_is_refused_unless_it_is_allowed():
    with pytest.raises(
        EmptyMapError, match=r"no equivariant map 2\*V -> 1 for O\(3\) is linear except zero: use the bilinear"
    ):
        EquivariantMatrix((2 * V >> Scalar)(O(3)))
    empty = EquivariantMatrix((2 * V >> Scalar)(O(3)), allow_empty=True)
    assert torch.equal(empty(), torch.zeros(1, 6))
