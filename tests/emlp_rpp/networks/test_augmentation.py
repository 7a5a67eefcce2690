import numpy as np
import pytest
import torch

from emlp_rpp.errors import GroupMismatchError, InputSizeError
from emlp_rpp.groups import SE, SO, DirectProduct, Group, Lorentz, O, S, Sp, Trivial
from emlp_rpp.groups.group import Element
from emlp_rpp.networks import EMLP, RandomElements, transform_batch
from emlp_rpp.representations import PseudoScalar, Scalar, T, V

GROUPS = [O(3), SO(2), Lorentz(), Sp(1), S(4), SE(2), Trivial(2), DirectProduct(S(3), O(2))]


def as_element(elements: RandomElements, sample: int, group: Group) -> Element:
    """The word of one sample, letter by letter."""
    word: list[tuple] = []
    for at in range(max(len(elements.coefficients), len(elements.letters))):
        if len(group.algebra) and at < len(elements.coefficients):
            word.append(tuple(elements.coefficients[at, sample].tolist()))
        if at < len(elements.letters):
            power = int(elements.powers[at, sample])
            word += [(int(elements.letters[at, sample]), 1 if power > 0 else -1)] * abs(power)
    return Element(tuple(word))


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_each_row_is_moved_by_its_own_element_as_the_dense_matrix_says(group: Group):
    representation = (2 * V + Scalar + PseudoScalar + T(1, 1) + V.dual)(group)
    elements = RandomElements.draw(group, 5, torch.Generator().manual_seed(1), spread=0.3)
    x = torch.randn(5, representation.size, dtype=torch.float64)
    moved = elements.apply(representation, x)
    for sample in range(5):
        matrix = torch.tensor(representation.matrix(as_element(elements, sample, group)))
        torch.testing.assert_close(moved[sample], matrix @ x[sample])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_input_and_output_are_moved_together(dtype: torch.dtype):
    group = O(3)
    rep_in, rep_out = (2 * V + Scalar)(group), (T(2) + V)(group)
    network = EMLP(rep_in, rep_out, channels=30, layers=1).to(dtype)
    x = torch.randn(30, rep_in.size, dtype=dtype)
    y = network(x).detach()
    moved_x, moved_y = transform_batch(x, y, rep_in, rep_out, torch.Generator().manual_seed(0))
    assert (moved_x - x).abs().max() > 0.1
    assert moved_x.dtype == moved_y.dtype == dtype
    torch.testing.assert_close(network(moved_x), moved_y, atol=1e-6, rtol=1e-5)


def test_the_generator_decides_the_elements():
    rep = V(O(4))
    x = torch.randn(6, 4)
    one, two, other = (transform_batch(x, x, rep, rep, torch.Generator().manual_seed(seed))[0] for seed in (7, 7, 8))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_elements_of_compact_groups_spread_over_the_group():
    """The mean of rho(g) over a group is the projection on invariants: zero for V of O(3), the mean for V of S(4)."""
    for group, expected in ((O(3), np.zeros((3, 3))), (S(4), np.full((4, 4), 0.25))):
        elements = RandomElements.draw(group, 4000, torch.Generator().manual_seed(0))
        mean = elements.matrices(V(group).term[0]).mean(0)
        assert np.abs(mean.numpy() - expected).max() < 0.06


def test_what_does_not_fit_is_explained():
    x = torch.zeros(3, 3)
    with pytest.raises(GroupMismatchError, match="use one group"):
        transform_batch(x, x, V(O(3)), V(SO(3)))
    with pytest.raises(InputSizeError, match="one row per sample"):
        transform_batch(x, x[:2], V(O(3)), V(O(3)))
    with pytest.raises(InputSizeError, match="6 coordinates"):
        transform_batch(x, x, (2 * V)(O(3)), V(O(3)))
