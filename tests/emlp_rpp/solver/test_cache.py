from pathlib import Path

import pytest
import torch

from emlp_rpp.groups import SE, SO, O, S
from emlp_rpp.representations import PseudoScalar, T
from emlp_rpp.solver import Options, invariant_basis


@pytest.mark.parametrize(
    "representation",
    [T(4)(SO(3)), T(4)(O(2)), T(3)(S(3)), (PseudoScalar * T(2))(S(3)), T(1, 1)(SE(2)), T(2)(S(2) * O(2))],
    ids=str,
)
def test_a_stored_basis_is_read_back(representation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    options = Options(cache_directory=tmp_path / "bases")
    fresh = invariant_basis(representation, options)
    files = sorted(path.name for path in (tmp_path / "bases").iterdir())
    assert files
    assert all(name.endswith(".pt") for name in files)
    monkeypatch.setattr("emlp_rpp.solver.dispatch.signed_permutations", lambda term: pytest.fail("solved again"))
    again = invariant_basis(representation, options)
    assert torch.equal(fresh.dense(), again.dense())
    assert again.certificate == fresh.certificate


def test_equal_problems_share_a_file(tmp_path: Path):
    options = Options(cache_directory=tmp_path)
    for representation in (T(2)(SO(3)), T(1, 1)(SO(3))):
        invariant_basis(representation, options)
    assert len(list(tmp_path.iterdir())) == 1
