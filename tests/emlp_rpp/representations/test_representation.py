"""The algebra of representations: sizes, duals, canonical order, and that every one is a homomorphism."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from emlp_rpp.errors import GroupMismatchError
from emlp_rpp.groups import SO, SU, DirectProduct, Element, Lorentz, O, S, Sp, Z
from emlp_rpp.representations import (
    PseudoScalar,
    Representation,
    Scalar,
    T,
    V,
    character,
    from_function,
    permutation_representation,
)
from emlp_rpp.solver.cache import content_name
from symlab.errors import ConfigError
from tests.emlp_rpp.cases import GROUPS


def test_readable_algebra():
    maps = (5 * V + 3 * T(2) >> T(2))(SO(3))
    assert maps.shape == (9, 15 + 27)
    assert repr(maps) == "maps 5*V + 3*T(2) >> T(2) of SO(3)"
    assert (2 * Scalar + V * V + T(1, 1))(Sp(1)).size == 2 + 4 + 4


def test_the_dual_of_an_orthogonal_vector_is_itself_and_others_differ():
    for group in (SO(3), O(2), S(4)):
        assert V(group).dual == V(group)
        assert T(1, 1)(group) == T(2)(group)
    for group in (Lorentz(), Sp(2), SU(3)):
        assert V(group).dual != V(group)
        assert V(group).dual.dual == V(group)


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_products_and_duals_follow_their_definitions(group):
    element = group.random_element(np.random.default_rng(3))
    g = group.matrix(element)
    np.testing.assert_allclose(T(1, 1)(group).matrix(element), np.kron(g, np.linalg.inv(g).T), atol=1e-10)
    summed = (V + PseudoScalar * V)(group).matrix(element)
    sign = np.sign(np.linalg.det(g).real)
    d = group.dimension
    np.testing.assert_allclose(summed[:d, :d], g, atol=1e-12)
    np.testing.assert_allclose(summed[d:, d:], sign * g, atol=1e-12)


def test_the_algebra_is_the_derivative_of_the_group():
    representation = (V + T(2, 1))(Sp(1))
    step = 1e-6
    for index, generator in enumerate(Sp(1).algebra):
        word = tuple(step if i == index else 0.0 for i in range(len(Sp(1).algebra)))
        moved = representation.matrix(Element((word,)))
        np.testing.assert_allclose((moved - np.eye(10)) / step, representation.algebra_matrix(index), atol=1e-5)
        assert generator.shape == (2, 2)


def test_canonical_forms_of_isomorphic_sums_agree_and_say_where_coordinates_go():
    group = Lorentz()
    one, other = (T(2) + V.dual * V + V)(group), (V + V * V.dual + T(2))(group)
    assert one != other
    assert one.canonical == other.canonical
    assert hash(one.canonical) == hash(other.canonical)
    element = group.random_element(np.random.default_rng(0))
    order = one.canonical_permutation
    np.testing.assert_allclose(one.matrix(element)[np.ix_(order, order)], one.canonical.matrix(element), atol=1e-12)


def test_hashes_do_not_change_between_processes():
    program = (
        "from emlp_rpp.groups import SO; from emlp_rpp.representations import T, V;"
        "from emlp_rpp.solver.cache import content_name;"
        "print(hash((2 * V + T(2))(SO(3))) , content_name(T(4)(SO(3)).term))"
    )
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": "."}
    there = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
    ).stdout
    assert there.split() == [str(hash((2 * V + T(2))(SO(3)))), content_name(T(4)(SO(3)).term)]


def test_another_groups_representation_is_refused_with_a_way_out():
    with pytest.raises(GroupMismatchError, match=r"direct product SO\(3\) \* O\(3\)"):
        V(SO(3)) + V(O(3))
    with pytest.raises(GroupMismatchError, match="restrict"):
        V(SO(3)) >> V(Lorentz())


def test_restriction_to_a_subgroup():
    restricted = (2 * V + T(2) + PseudoScalar)(O(3)).restrict(SO(3))
    assert restricted.group == SO(3)
    assert restricted == (2 * V + T(2) + PseudoScalar)(SO(3))
    assert V(S(4)).restrict(Z(4)).group == Z(4)
    with pytest.raises(GroupMismatchError, match="no subgroup"):
        V(SO(3)).restrict(Sp(1))
    with pytest.raises(GroupMismatchError, match="a generator is not inside"):
        V(Z(4)).restrict(S(4))


def test_permutation_representations_are_checked():
    pairs = [(i, j) for i in range(3) for j in range(i)]
    images = []
    for generator in S(3).permutations.generators:
        images.append([pairs.index(tuple(sorted((generator[i], generator[j]), reverse=True))) for i, j in pairs])
    edges = permutation_representation(S(3), images, "edges")
    assert edges.size == 3
    with pytest.raises(ConfigError, match="a relation of its generators is broken"):
        permutation_representation(S(3), [[1, 2, 0], [1, 0, 2]], "wrong")


def test_a_representation_from_a_function_gets_its_algebra_by_differentiation():
    adjoint = from_function(SO(3), lambda g: torch.kron(g, g), "V(x)V")
    for index in range(3):
        np.testing.assert_allclose(adjoint.algebra_matrix(index), T(2)(SO(3)).algebra_matrix(index), atol=1e-12)


def test_lifting_to_a_direct_product():
    product = DirectProduct(S(3), O(2))
    points, vectors = V(S(3)).lift(product, 0), V(O(2)).lift(product, 1)
    assert points * vectors == V(product)
    with pytest.raises(GroupMismatchError, match="factor 1"):
        V(S(3)).lift(product, 1)


def test_characters_need_one_value_per_generator():
    assert character(S(3), [-1.0, 1.0], "sign").size == 1
    with pytest.raises(ConfigError, match="2 discrete generators"):
        character(S(3), [1.0], "short")


def test_negative_multiplicities_are_refused():
    with pytest.raises(ConfigError, match="-1 copies"):
        Representation(SO(2), [(-1, ())])
