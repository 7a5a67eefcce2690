"""Generators generate what their name says."""

import numpy as np
import pytest

from emlp_rpp.groups import (
    GL,
    SE,
    SL,
    SO,
    SU,
    C,
    D,
    E,
    Group,
    Lorentz,
    O,
    ProperOrthochronousLorentz,
    S,
    Sp,
    Translations,
    U,
    Z,
)
from emlp_rpp.groups.rubiks_cube import ORDER, RubiksCube, facets
from symlab.errors import ConfigError
from tests.emlp_rpp.cases import GROUPS


def elements(group: Group, count: int = 5) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [group.matrix(group.random_element(generator)) for _ in range(count)]


def form(p: int, q: int) -> np.ndarray:
    return np.diag([1.0] * p + [-1.0] * q)


def symplectic(n: int) -> np.ndarray:
    return np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])


@pytest.mark.parametrize(
    ("group", "preserved"),
    [
        (SO(3), form(3, 0)),
        (O(4), form(4, 0)),
        (SO(2, 1), form(2, 1)),
        (O(2, 2), form(2, 2)),
        (ProperOrthochronousLorentz(), form(1, 3)),
        (Lorentz(), form(1, 3)),
        (Sp(2), symplectic(2)),
        (C(5), form(2, 0)),
        (D(6), form(2, 0)),
    ],
)
def test_elements_preserve_the_form(group: Group, preserved: np.ndarray):
    for g in elements(group):
        np.testing.assert_allclose(g.T @ preserved @ g, preserved, atol=1e-10)


@pytest.mark.parametrize("group", [SO(3), SO(2, 1), ProperOrthochronousLorentz(), Sp(2), SL(3), SU(3), C(7), SE(2)])
def test_elements_of_special_groups_have_determinant_one(group: Group):
    for g in elements(group):
        assert abs(np.linalg.det(g) - 1) < 1e-10


def test_groups_with_reflections_have_both_determinants():
    for group in (O(3), GL(2), D(4), E(3), Lorentz()):
        signs = {int(np.sign(np.linalg.det(g))) for g in elements(group, 20)}
        assert signs == {-1, 1}


def test_the_orthochronous_group_keeps_the_direction_of_time():
    assert all(g[0, 0] >= 1 for g in elements(ProperOrthochronousLorentz()))
    assert any(g[0, 0] <= -1 for g in elements(Lorentz(), 20))


def test_unitary_elements_are_unitary():
    for group in (SU(3), U(2)):
        for g in elements(group):
            np.testing.assert_allclose(g.conj().T @ g, np.eye(group.dimension), atol=1e-12)


@pytest.mark.parametrize(
    ("group", "dimension"), [(SO(5), 10), (Sp(3), 21), (SU(4), 15), (U(3), 9), (SL(3), 8), (GL(3), 9), (SE(3), 6)]
)
def test_the_algebra_has_its_dimension(group: Group, dimension: int):
    flat = group.algebra.reshape(len(group.algebra), -1)
    real = np.concatenate([flat.real, flat.imag], axis=1)
    assert len(flat) == dimension == np.linalg.matrix_rank(real)


@pytest.mark.parametrize(
    ("group", "order"), [(Z(6), 6), (S(5), 120), (Translations(3), 9), (S(1), 1), (RubiksCube(), ORDER)], ids=str
)
def test_orders_of_groups_of_permutations(group: Group, order: int):
    assert group.order() == order


def test_the_cube_has_48_facets_and_quarter_turns():
    assert len(set(facets())) == 48
    for turn in RubiksCube().discrete:
        assert np.count_nonzero(np.diag(turn) == 0) == 20
        np.testing.assert_array_equal(np.linalg.matrix_power(turn, 4), np.eye(48))


def weighted() -> list[Group]:
    return [group for group in GROUPS if group.weights is not None]


@pytest.mark.parametrize("group", weighted(), ids=str)
def test_weights_describe_the_complexified_algebra(group: Group):
    """Raising and lowering matrices and the torus lie in the complex span of the algebra, and generate all of it."""
    weights = group.weights
    assert weights is not None
    identity = np.eye(group.dimension)
    np.testing.assert_allclose(weights.change.conj().T @ weights.change, identity, atol=1e-14)
    if not len(group.algebra):
        return
    span = group.algebra.reshape(len(group.algebra), -1).T
    back = weights.change.conj().T
    found = []
    for root, raising in zip(weights.roots, weights.raising):
        for row, column in zip(*np.nonzero(raising)):
            np.testing.assert_array_equal(weights.weights[row] - weights.weights[column], root)
        found += [raising, raising.T]
    for coordinate in weights.weights.T:
        found.append(np.diag(coordinate.astype(float)))
    if group.name.startswith(("SL", "SU")):  # Dynkin labels are no diagonal matrices of the algebra
        found = found[: 2 * len(weights.raising)]
    for matrix in found:
        flat = (weights.change @ matrix @ back).reshape(-1)
        rest = flat - span @ np.linalg.lstsq(span.astype(complex), flat, rcond=None)[0]
        assert np.abs(rest).max() < 1e-12
    generated = [matrix.reshape(-1) for matrix in found]
    for _ in range(4):
        matrices = [flat.reshape(identity.shape) for flat in generated]
        brackets = [(a @ b - b @ a).reshape(-1) for a in matrices for b in matrices]
        _, values, right = np.linalg.svd(np.array(generated + brackets))
        generated = list(right[: int((values > 1e-9).sum())])
    assert len(generated) == len(group.algebra)


def test_wrong_generators_and_sizes_are_refused():
    with pytest.raises(ConfigError, match="square matrices of one size"):
        Group("odd", discrete=[np.eye(2)], algebra=[np.eye(3)])
    with pytest.raises(ConfigError, match=r"SU\(1\) does not fit"):
        SU(1)
    with pytest.raises(ConfigError, match="order of"):
        SO(3).order()


def test_equal_generators_make_equal_groups():
    assert SO(3) == SO(3)
    assert hash(SO(3)) == hash(SO(3))
    assert SO(3) != O(3)
