"""The training steps of ``make bench-emlp``: the synthetic tasks of the thesis by their types, for ours and the peer.

Imports only the standard library, since the peer uses it in its own environment.
"""

from dataclasses import dataclass

CHANNELS, LAYERS, BATCH, LEARNING_RATE = 384, 3, 500, 3e-3


@dataclass(frozen=True)
class TrainingStep:
    """Of O(``n``): ``vectors`` vectors and ``scalars`` scalars go in, one tensor of rank ``target`` comes out."""

    title: str
    n: int
    vectors: int
    scalars: int
    target: int

    @property
    def name(self) -> str:
        return f"step {self.title}"

    @property
    def sizes(self) -> tuple[int, int]:
        return self.n * self.vectors + self.scalars, self.n**self.target


STEPS = {step.name: step for step in (TrainingStep("O(5) invariant", 5, 2, 0, 0), TrainingStep("O(3) inertia", 3, 5, 5, 2))}
