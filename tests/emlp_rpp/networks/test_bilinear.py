"""The layer against the definition, which writes the matrix of every sample."""

import pytest
import torch
from torch import Tensor

from emlp_rpp.errors import EmptyMapError, GroupMismatchError, InputSizeError
from emlp_rpp.groups import SO, SU, D, DirectProduct, Group, Lorentz, O, ProperOrthochronousLorentz, S, Sp, Z
from emlp_rpp.networks import Bilinear
from emlp_rpp.representations import PseudoScalar, Representation, Scalar, T, V
from emlp_rpp.representations.representation import canonical_order
from symlab.errors import ConfigError
from tests.emlp_rpp.networks.oracles import REAL_SU2, equivariance_error, tensors_by_type

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


def naive(layer: Bilinear, x: Tensor) -> Tensor:
    """0.1 M(x) x with M of shape (batch, out, in), one entry of ``weights`` at a time."""
    inputs, outputs = tensors_by_type(layer.rep_in), tensors_by_type(layer.rep_out)
    order_in = [term for _, term in layer.rep_in.canonical.summands]
    order_out = [term for _, term in layer.rep_out.canonical.summands]
    drawn = dict(zip(order_in, layer.drawn.split(layer._drawn_counts)))
    matrix = x.new_zeros(len(x), layer.rep_out.size, layer.rep_in.size)
    at = 0
    for contracts in (True, False):
        for group in (each for each in layer._all.groups if each.mixed != contracts):
            count = group.count
            weights, at = layer.weights[at : at + count], at + count
            first, start = group.members[0], 0
            shaped = weights.view(first.output_copies, -1) if contracts else weights.view(-1, first.input_copies)
            for each in group.members:
                out_term, in_term, kind = order_out[each.output], order_in[each.input], order_in[each.kind]
                length = each.drawn * (each.input_copies if contracts else each.output_copies)
                if contracts:  # (output copies, drawn, input copies)
                    own = shaped[:, start : start + length].reshape(each.output_copies, each.drawn, each.input_copies)
                else:
                    own = shaped[start : start + length].reshape(each.drawn, each.output_copies, each.input_copies)
                    own = own.transpose(0, 1)
                start += length
                for k, copy in enumerate(drawn[kind].tolist()):
                    z = maps_of(x[:, inputs[kind][copy]], out_term, in_term)
                    for c, rows in enumerate(outputs[out_term]):
                        for d, columns in enumerate(inputs[in_term]):
                            matrix[:, rows[:, None], columns[None]] += own[c, k, d] * z
    assert at == len(layer.weights)
    return 0.1 * torch.einsum("boi,bi->bo", matrix, x)


def maps_of(tensors: Tensor, out_term: tuple, in_term: tuple) -> Tensor:
    """Canonical coordinates of o (x) i* -> matrices (batch, o, i)."""
    term = (*out_term, *(atom.dual for atom in in_term))
    order = canonical_order(term)
    shaped = tensors.reshape(len(tensors), *[term[i].size for i in order])
    restored = shaped.permute(0, *[1 + order.index(i) for i in range(len(term))])
    rows = 1
    for atom in out_term:
        rows *= atom.size
    return restored.reshape(len(tensors), rows, -1)


def representations(group: Group) -> list[tuple[Representation, Representation]]:
    ordered = (4 * Scalar + 5 * V + 3 * T(2))(group)
    mixed = (V + 2 * Scalar + T(1, 1) + V + PseudoScalar + V.dual)(group)
    return [(ordered, ordered), (mixed, (T(1, 1) + Scalar + 2 * V)(group))]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_it_is_the_sum_of_the_definition(group: Group):
    for rep_in, rep_out in representations(group):
        layer = Bilinear(rep_in, rep_out, seed=1).double()
        x = torch.randn(3, rep_in.size, dtype=torch.float64)
        with torch.no_grad():
            torch.testing.assert_close(layer(x), naive(layer, x))


def test_gradients_are_those_of_the_definition():
    layer = Bilinear(*representations(O(3))[0]).double()
    x = torch.randn(3, layer.rep_in.size, dtype=torch.float64, requires_grad=True)
    direction = torch.randn(3, layer.rep_out.size, dtype=torch.float64)
    found = torch.autograd.grad((layer(x) * direction).sum(), (x, layer.weights))
    expected = torch.autograd.grad((naive(layer, x) * direction).sum(), (x, layer.weights))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_layers_are_equivariant(group: Group, dtype: torch.dtype, tolerance: float):
    for rep_in, rep_out in representations(group):
        layer = Bilinear(rep_in, rep_out).to(dtype)
        assert equivariance_error(layer, rep_in, rep_out, dtype) < tolerance


def test_it_is_homogeneous_of_degree_two_and_any_batch_shape_is_kept():
    layer = Bilinear(*representations(SO(3))[0]).double()
    x = torch.randn(2, 3, layer.rep_in.size, dtype=torch.float64)
    torch.testing.assert_close(layer(3 * x), 9 * layer(x))
    torch.testing.assert_close(layer(x)[1], layer(x[1]))


def test_the_seed_decides_the_maps_and_the_state_keeps_them():
    rep_in = (2 * Scalar + 20 * V)(O(3))
    one, other = Bilinear(rep_in, rep_in, seed=0), Bilinear(rep_in, rep_in, seed=3)
    assert torch.equal(one.drawn, Bilinear(rep_in, rep_in, seed=0).drawn)
    assert not torch.equal(one.drawn, other.drawn)
    other.load_state_dict(one.state_dict())
    x = torch.randn(4, rep_in.size)
    assert torch.equal(one(x), other(x))


def test_what_does_not_fit_is_explained():
    group = O(3)
    with pytest.raises(EmptyMapError, match=r"no bilinear map 5\*1 -> V for O\(3\): no tensor of the input is a map"):
        Bilinear((5 * Scalar)(group), V(group))
    empty = Bilinear((5 * Scalar)(group), V(group), allow_empty=True)
    assert torch.equal(empty(torch.ones(2, 5)), torch.zeros(2, 3))
    with pytest.raises(GroupMismatchError, match="use one group"):
        Bilinear(V(group), V(SO(3)))
    with pytest.raises(ConfigError, match="complex and networks are real"):
        Bilinear(V(SU(2)), Scalar(SU(2)))
    with pytest.raises(InputSizeError, match="6 coordinates"):
        Bilinear((2 * V)(group), Scalar(group))(torch.zeros(2, 7))
