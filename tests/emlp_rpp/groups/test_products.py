import numpy as np
import pytest

from emlp_rpp.groups import SO, D, DirectProduct, Group, O, S, Translations, Z, semidirect_product, wreath_product
from emlp_rpp.groups.finite import cyclic_shift
from emlp_rpp.groups.permutations import permutation_matrix
from symlab.errors import ConfigError


def test_orders_of_products():
    assert (S(3) * Z(2)).order() == 12
    assert wreath_product(S(3), S(2)).order() == 72
    reversal = Group("reversal", discrete=[permutation_matrix([4, 3, 2, 1, 0])])
    assert semidirect_product(Z(5), reversal).order() == 10


def test_roto_translations_of_a_grid_have_their_order():
    """p4: rotations by 90 degrees normalise the translations of a grid."""
    n = 3
    images = [((-j) % n) * n + i for i in range(n) for j in range(n)]
    rotations = Group("rotations", discrete=[permutation_matrix(images)])
    assert semidirect_product(Translations(n), rotations).order() == 4 * n * n


def test_a_product_keeps_its_factors():
    product = S(3) * O(2) * Z(2)
    assert isinstance(product, DirectProduct)
    assert [factor.name for factor in product.factors] == ["S(3)", "O(2)", "Z(2)"]
    element = product.random_element(np.random.default_rng(0))
    assert product.matrix(element).shape == (12, 12)


def test_what_is_no_product_is_refused():
    with pytest.raises(ConfigError, match="no group of permutations"):
        wreath_product(S(2), D(3))
    with pytest.raises(ConfigError, match="one space"):
        semidirect_product(SO(3), O(2))
    swap = Group("swap", discrete=[permutation_matrix([1, 0, 2, 3, 4])])
    with pytest.raises(ConfigError, match="leads out of"):
        semidirect_product(Group("shift", discrete=[cyclic_shift(5)]), swap)
