"""Building equivariant matrices once for many passes with the same parameters, such as the steps of an integrator."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from emlp_rpp.networks import EquivariantMatrix


@contextmanager
def held_matrices(module: nn.Module) -> Iterator[None]:
    """Within it each equivariant matrix of the module is built when it is first used. Gradients are those of passes that
    build it anew: all passes share one node of the graph."""
    with ExitStack() as stack:
        for part in module.modules():
            if isinstance(part, EquivariantMatrix):
                stack.enter_context(_held(part))
        yield


@contextmanager
def _held(matrix: EquivariantMatrix) -> Iterator[None]:
    build: Callable[[Any], list[Tensor]] = matrix.assemble
    known: dict[tuple[Any, ...], list[Tensor]] = {}

    def assemble(components: Any) -> list[Tensor]:
        key = tuple(components)
        if key not in known:
            known[key] = build(components)
        return known[key]

    outer = vars(matrix).get("assemble")  # where it is held already
    vars(matrix)["assemble"] = assemble
    try:
        yield
    finally:
        del vars(matrix)["assemble"]
        if outer is not None:
            vars(matrix)["assemble"] = outer
