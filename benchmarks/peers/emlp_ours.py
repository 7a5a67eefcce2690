"""Our solver on one cell, in a process of its own: the name of the cell is the argument, the answer one line of JSON.

The answer has seconds (the median of the repeats; nothing is cached between them), rank, size and whether the dense
matrix was formed too, as the peer does: only where it has at most 2^27 entries.
"""

import json
import statistics
import sys
import time

import torch

from benchmarks.emlp_cells import CELLS, BenchmarkCell
from emlp_rpp.groups import SO, SU, Group, Lorentz, O, ProperOrthochronousLorentz, RubiksCube, S, Sp, Z
from emlp_rpp.representations import T
from emlp_rpp.solver import invariant_basis

SIZED = {"S": S, "Z": Z, "SO": SO, "O": O, "SU": SU, "Sp": Sp}
FIXED = {"SO13p": ProperOrthochronousLorentz, "O13": Lorentz, "RubiksCube": RubiksCube}
DENSE_ENTRIES = 2**27


def build(cell: BenchmarkCell) -> Group:
    return FIXED[cell.group]() if cell.n is None else SIZED[cell.group](cell.n)


def solve(cell: BenchmarkCell) -> dict[str, float]:
    basis = invariant_basis(T(cell.p, cell.q)(build(cell)))
    dense = basis.size * basis.rank <= DENSE_ENTRIES
    if dense:
        basis.dense()
    return {"rank": basis.rank, "size": basis.size, "dense": dense}


def main() -> None:
    request = json.loads(sys.argv[1])
    torch.set_num_threads(request["threads"])
    cell = CELLS[request["cell"]]
    invariant_basis(T(2)(build(cell))).dense()  # loads libraries
    seconds, answer = [], {}
    for _ in range(request["repeats"]):
        started = time.perf_counter()
        answer = solve(cell)
        seconds.append(time.perf_counter() - started)
    print(json.dumps({**answer, "seconds": statistics.median(seconds)}))


if __name__ == "__main__":
    main()
