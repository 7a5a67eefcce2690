"""The peer ``emlp`` on one cell, in its own environment: the same request and answer as ``emlp_ours``.

Three repairs make it importable: the requirement ``six`` (``benchmarks.peer_environments``), no progress bars (TQDM_DISABLE,
which must be set before anything is imported) and a stand-in for a class that objax looks up and newer jax does not have.
One solution is timed: the peer keeps what it has solved. A small problem of the same group goes before, so that imports and
the first compilation are not counted.
"""

import json
import os
import sys
import time

os.environ["TQDM_DISABLE"] = "1"

import jax

if not hasattr(jax.sharding, "PmapSharding"):
    jax.sharding.PmapSharding = type("PmapSharding", (), {})

import emlp.groups
from emlp.reps import T

from benchmarks.emlp_cells import CELLS


def main() -> None:
    request = json.loads(sys.argv[1])
    cell = CELLS[request["cell"]]
    constructor = getattr(emlp.groups, cell.group)
    group = constructor() if cell.n is None else constructor(cell.n)
    T(2)(group).equivariant_basis()
    started = time.perf_counter()
    basis = T(cell.p, cell.q)(group).equivariant_basis()
    rank = int(basis.shape[-1])
    getattr(basis, "block_until_ready", lambda: None)()
    seconds = time.perf_counter() - started
    print(json.dumps({"rank": rank, "size": int(basis.shape[0]), "dense": True, "seconds": seconds}))


if __name__ == "__main__":
    main()
