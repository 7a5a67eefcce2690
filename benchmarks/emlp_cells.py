"""The cells of ``make bench-emlp``: groups by name with their sizes, so that ours and the peer's worker read one list.

Imports only the standard library, since the peer uses it in its own environment.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class BenchmarkCell:
    """``group``: S, Z, SO, O, SO13p, O13, SU, Sp or RubiksCube, with ``n`` where it needs a size; the tensor is T_(p, q)."""

    group: str
    n: int | None
    p: int
    q: int = 0
    peer: bool = True

    @property
    def name(self) -> str:
        size = f"({self.n})" if self.n is not None else ""
        return f"{self.group}{size} T_{f'({self.p},{self.q})' if self.q else self.p}"


COMMON = (
    BenchmarkCell("SO", 3, 6),
    BenchmarkCell("O", 4, 6),
    BenchmarkCell("SO13p", None, 6),
    BenchmarkCell("SU", 3, 3, 3),
    BenchmarkCell("Z", 5, 5),
    BenchmarkCell("SO", 5, 6),
    BenchmarkCell("S", 4, 6),
)
ALONE = (
    BenchmarkCell("S", 5, 7, peer=False),
    BenchmarkCell("S", 8, 7, peer=False),
    BenchmarkCell("Sp", 2, 8, peer=False),
    BenchmarkCell("O13", None, 8, peer=False),
    BenchmarkCell("RubiksCube", None, 3, peer=False),
    BenchmarkCell("RubiksCube", None, 4, peer=False),
)
CELLS = {cell.name: cell for cell in (*COMMON, *ALONE)}
