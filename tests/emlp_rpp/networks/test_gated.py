import pytest
import torch

from emlp_rpp.errors import InputSizeError
from emlp_rpp.groups import SO, DirectProduct, Group, Lorentz, O, S, Sp, Z
from emlp_rpp.networks import Gated, with_gates
from emlp_rpp.representations import PseudoScalar, Scalar, T, V
from tests.emlp_rpp.networks.oracles import REAL_SU2, equivariance_error


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_tensor_is_multiplied_by_its_gate(dtype: torch.dtype):
    gated = Gated((Scalar + 2 * V + T(2) + PseudoScalar)(O(3)))
    assert gated.gates == 4
    x = torch.randn(2, 7, 4 + 17, dtype=dtype)
    gates, values = torch.sigmoid(x[..., :4]), x[..., 4:]
    owners = [None, *[0] * 3, *[1] * 3, *[2] * 9, 3]
    expected = torch.stack(
        [
            values[..., at] * (torch.sigmoid(values[..., at]) if owner is None else gates[..., owner])
            for at, owner in enumerate(owners)
        ],
        dim=-1,
    )
    torch.testing.assert_close(gated(x), expected)


def test_permutations_and_scalars_gate_themselves():
    for group in (S(3), Z(4)):
        representation = (2 * V + Scalar + T(2))(group)
        assert with_gates(representation) == representation
        x = torch.randn(5, representation.size)
        torch.testing.assert_close(Gated(representation)(x), x * torch.sigmoid(x))
    assert with_gates((V + PseudoScalar)(S(3))) == (Scalar + V + PseudoScalar)(S(3))


@pytest.mark.parametrize("group", [O(3), SO(2), S(3), Sp(1), Lorentz(), REAL_SU2, DirectProduct(S(3), O(2))], ids=str)
def test_gates_are_equivariant(group: Group):
    for expression in (2 * V + 3 * Scalar + T(2), 3 * Scalar + T(2) + PseudoScalar + V):
        gated = Gated(expression(group))
        assert equivariance_error(gated, gated.rep_in, gated.rep_out) < 1e-13


def test_wrong_sizes_are_explained():
    with pytest.raises(InputSizeError, match=r"shape \(2, 3\) does not fit: 1 \+ V of O\(3\) has 4 coordinates"):
        Gated(V(O(3)))(torch.zeros(2, 3))
