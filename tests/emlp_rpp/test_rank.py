import pytest

from emlp_rpp.errors import UnresolvedRankError
from emlp_rpp.groups import SE, SO, SU, D, Group, Lorentz, O, S, Sp, Z
from emlp_rpp.rank import InvariantRank, count_invariants


@pytest.mark.parametrize(
    ("group", "p", "q", "rank"), [(Z(3), 3, 0, 9), (S(3), 3, 0, 5), (Lorentz(), 2, 2, 3), (Sp(1), 4, 0, 2), (SU(3), 3, 3, 6)]
)
def test_a_cell_is_a_basis_confirmed_by_a_count(group: Group, p: int, q: int, rank: int):
    computed = InvariantRank(group, p, q).compute()
    assert computed.metrics["rank"] == computed.metrics["counted"] == rank
    assert computed.metrics["dimension"] == group.dimension ** (p + q)
    assert computed.metrics["residual"] < 1e-10
    assert computed.remark == ""


def test_above_the_largest_size_the_cell_is_counted_and_says_so():
    computed = InvariantRank(SO(7), 8, largest_size=1000).compute()
    assert computed.metrics["rank"] == 105
    assert "exact count" in computed.remark


def test_a_basis_that_is_large_as_a_matrix_says_so():
    assert "97 GiB" in InvariantRank(Z(6), 7).compute().remark


def test_groups_without_a_formula_have_a_basis_only():
    assert count_invariants(SE(2), 2, 0) is None
    assert "counted" not in InvariantRank(D(4), 4).compute().metrics


def test_a_wrong_basis_would_not_pass(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("emlp_rpp.rank.count_invariants", lambda *_: 7)
    with pytest.raises(UnresolvedRankError, match="rank 3, the count 7"):
        InvariantRank(O(3), 4).compute()
