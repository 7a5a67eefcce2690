import torch

from emlp_rpp.groups import O, Sp
from emlp_rpp.networks.contractions import Contraction, draw_copies, find_contractions
from emlp_rpp.representations import Representation, Scalar, T, V


def types(representation: Representation) -> set[tuple[str, str, str]]:
    """(output, input, tensor that is the map) of every contraction of a representation with itself."""
    source = representation.canonical
    names = [repr(Representation(source.group, [(1, term)])) for _, term in source.summands]
    return {(names[c.output], names[c.input], names[c.kind]) for c in find_contractions(source, source)}


def test_maps_between_tensors_of_an_orthogonal_group():
    expected = {
        ("V", "1", "V"),
        ("1", "V", "V"),
        ("T(2)", "1", "T(2)"),
        ("1", "T(2)", "T(2)"),
        ("V", "V", "T(2)"),
        ("T(3)", "1", "T(3)"),
        ("1", "T(3)", "T(3)"),
        ("V", "T(2)", "T(3)"),
        ("T(2)", "V", "T(3)"),
    }
    assert types((5 * Scalar + 2 * V + T(2) + T(3))(O(3))) == expected


def test_maps_where_the_dual_differs():
    """T_a maps T_b to T_c if (a1, a2) = (c1 + b2, c2 + b1)."""
    expected = {("V", "1", "V"), ("1", "V*", "V"), ("V", "V", "T(1,1)"), ("V*", "V*", "T(1,1)"), ("1", "V", "V*")}
    expected |= {("V*", "1", "V*"), ("T(1,1)", "1", "T(1,1)"), ("1", "T(1,1)", "T(1,1)")}
    assert types((Scalar + V + V.dual + T(1, 1))(Sp(2))) == expected


def test_scalars_alone_are_no_maps():
    assert types((5 * Scalar)(O(3))) == set()


def test_draws_are_sorted_distinct_and_decided_by_the_seed():
    representation = (40 * V + 2 * T(2))(O(3))
    vectors, matrices = draw_copies(representation, 0)
    assert len(vectors) == 3
    assert vectors.tolist() == sorted(set(vectors.tolist()))
    assert matrices.tolist() == [0, 1]
    assert all(torch.equal(a, b) for a, b in zip(draw_copies(representation, 0), (vectors, matrices)))
    assert any(not torch.equal(draw_copies(representation, seed)[0], vectors) for seed in range(1, 4))


def test_the_cheaper_order_is_chosen():
    def contraction(input_copies: int, output_copies: int, input_size: int, output_size: int) -> Contraction:
        return Contraction(0, 0, 0, 3, input_copies, output_copies, input_size, output_size, (), ())

    assert contraction(150, 34, 1, 3).mixes_first  # scalars are mixed before the map makes vectors of them
    assert not contraction(34, 150, 3, 1).mixes_first
