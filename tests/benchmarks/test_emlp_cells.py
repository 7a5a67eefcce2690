from benchmarks.emlp_cells import CELLS, COMMON
from benchmarks.peers.emlp_ours import build, solve


def test_names_are_unique_and_every_group_can_be_built():
    assert len(CELLS) == 13
    assert all(build(cell).dimension > 1 for cell in CELLS.values())


def test_a_cell_is_solved():
    assert solve(COMMON[0]) == {"rank": 15, "size": 729, "dense": True}
