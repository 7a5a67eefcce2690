import pytest
import torch

from emlp_rpp.errors import EmptyMapError, GroupMismatchError, InputSizeError, ProblemTooLargeError
from emlp_rpp.groups import SO, SU, D, DirectProduct, Group, Lorentz, O, ProperOrthochronousLorentz, S, Sp, Z
from emlp_rpp.networks import EquivariantLinear
from emlp_rpp.networks.parts import join_parts, split_parts
from emlp_rpp.representations import PseudoScalar, Scalar, T, V
from emlp_rpp.solver import Options, Solutions, invariant_basis
from symlab.errors import ConfigError
from tests.emlp_rpp.networks.oracles import REAL_SU2, equivariance_error

GROUPS = [
    O(3),
    SO(3),
    SO(2),
    S(4),
    Z(5),
    D(3),
    Sp(1),
    Lorentz(),
    ProperOrthochronousLorentz(),
    REAL_SU2,
    DirectProduct(S(3), O(2)),
]


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_layers_are_equivariant(group: Group, dtype: torch.dtype, tolerance: float):
    rep_in, rep_out = (3 * V + Scalar + T(2))(group), (T(2) + 2 * V + Scalar + PseudoScalar)(group)
    layer = EquivariantLinear(rep_in, rep_out).to(dtype)
    assert equivariance_error(layer, rep_in, rep_out, dtype) < tolerance


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_parts_give_what_the_dense_product_gives(group: Group):
    rep_in, rep_out = (3 * V + Scalar + T(2) + V)(group), (T(2) + 2 * V + Scalar + PseudoScalar)(group)
    layer = EquivariantLinear(rep_in, rep_out).double()
    x = torch.randn(2, 3, rep_in.size, dtype=torch.float64)
    expected = x @ layer.weight().mT + layer.bias()[:, 0]
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(join_parts(layer.forward_parts(split_parts(x, rep_in)), x), expected)


def test_it_starts_as_the_projection_of_an_orthogonal_matrix_and_uniform_biases():
    group = S(3)
    rep_in, rep_out = (2 * V + Scalar)(group), (V + T(2))(group)
    torch.manual_seed(5)
    layer = EquivariantLinear(rep_in, rep_out).double()
    torch.manual_seed(5)
    free = torch.nn.init.orthogonal_(torch.empty(rep_out.size, rep_in.size))
    uniform = torch.rand(rep_out.size, 1) / rep_out.size**0.5
    weights = invariant_basis(rep_out * rep_in.dual).dense()
    assert layer.weight.rank == weights.shape[1]
    nearest = layer.weight().detach()
    rest = free.double() - nearest
    for element in range(layer.weight.rank):  # the rest is orthogonal to every equivariant map
        layer.weight.coefficients.data = torch.eye(layer.weight.rank, dtype=torch.float64)[element]
        assert abs(float((rest * layer.weight().detach()).sum())) < 1e-6
    biases = invariant_basis(rep_out).dense()
    torch.testing.assert_close(layer.bias().detach(), biases @ biases.mT @ uniform.double(), atol=1e-6, rtol=0)


def test_what_does_not_fit_is_explained():
    with pytest.raises(
        EmptyMapError, match=r"no equivariant map V \+ T\(3\) -> 1 for O\(3\) is linear except zero: use the bili"
    ):
        EquivariantLinear((V + T(3))(O(3)), Scalar(O(3)))
    with pytest.raises(GroupMismatchError, match="use one group"):
        EquivariantLinear(V(O(3)), V(SO(3)))
    with pytest.raises(ConfigError, match=r"rep_in = 5\*\(V\) is not bound to a group: write"):
        EquivariantLinear(5 * V, V(O(3)))
    with pytest.raises(ConfigError, match="rep_out is a int: a representation is needed"):
        EquivariantLinear(V(O(3)), 3)
    with pytest.raises(ConfigError, match="complex and networks are real"):
        EquivariantLinear(V(SU(2)), V(SU(2)))
    with pytest.raises(ConfigError, match="without coordinates"):
        EquivariantLinear((0 * V)(O(3)), V(O(3)))
    layer = EquivariantLinear((2 * V)(O(3)), V(O(3)))
    with pytest.raises(InputSizeError, match=r"shape \(4, 5\) does not fit: 2\*V of O\(3\) has 6 coordinates"):
        layer(torch.zeros(4, 5))


def test_too_large_layers_are_refused_with_their_size():
    with pytest.raises(ProblemTooLargeError, match=r"59,049 x 59,049 numbers and needs 26.0 GiB"):
        EquivariantLinear(T(10)(O(3)), T(10)(O(3)))
    tight = Solutions(Options(limit_bytes=1000))
    with pytest.raises(ProblemTooLargeError, match="more than the limit"):
        EquivariantLinear(T(2)(SO(3)), T(2)(SO(3)), solutions=tight)
