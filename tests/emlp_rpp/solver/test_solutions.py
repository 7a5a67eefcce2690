import pytest
import torch

from emlp_rpp.groups import Sp
from emlp_rpp.representations import V
from emlp_rpp.solver import Solutions, solve_term


def test_every_order_of_the_same_factors_shares_one_solution(monkeypatch: pytest.MonkeyPatch):
    solved = []

    def counted(term, options):
        solved.append(term)
        return solve_term(term, options)

    monkeypatch.setattr("emlp_rpp.solver.solutions.solve_term", counted)
    solutions = Solutions()
    for expression in (V * V.dual * V.dual * V, V.dual * V * V * V.dual, V * V.dual * V.dual * V):
        term = expression(Sp(1)).term
        found, expected = solutions(term).dense(), solve_term(term).dense()
        torch.testing.assert_close(found @ found.mT, expected @ expected.mT)
    assert len(solved) == 1
