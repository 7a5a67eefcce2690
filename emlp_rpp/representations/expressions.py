"""Representations before a group is chosen: ``V``, ``T(p, q)``, ``Scalar``, ``PseudoScalar`` and what is made of them.

>>> (5 * V + 3 * T(2) >> T(2))(SO(3))
maps 5*V + 3*T(2) >> T(2) of SO(3)
"""

from collections.abc import Callable
from operator import add, mul, rshift
from typing import Any

from emlp_rpp.groups.group import Group
from emlp_rpp.representations.representation import Representation


class Expression:
    """A text and what it means for a group."""

    def __init__(self, text: str, build: Callable[[Group], Any]):
        self.text, self.build = text, build

    def __call__(self, group: Group) -> Any:
        return self.build(group)

    def __repr__(self) -> str:
        return self.text

    def _join(self, other: "Expression", sign: str, operation: Callable[[Any, Any], Any]) -> "Expression":
        text = f"{self.text} {sign} {other.text}" if sign != "*" else f"({self.text})*({other.text})"
        return Expression(text, lambda group: operation(self(group), other(group)))

    def __add__(self, other: "Expression") -> "Expression":
        return self._join(other, "+", add)

    def __mul__(self, other: "Expression") -> "Expression":
        return self._join(other, "*", mul)

    def __rshift__(self, other: "Expression") -> "Expression":
        return self._join(other, ">>", rshift)

    def __rmul__(self, multiplicity: int) -> "Expression":
        return Expression(f"{multiplicity}*({self.text})", lambda group: multiplicity * self(group))

    @property
    def dual(self) -> "Expression":
        return Expression(f"({self.text})*", lambda group: self(group).dual)


V = Expression("V", Representation.vector)
Scalar = Expression("Scalar", Representation.scalar)
PseudoScalar = Expression("PseudoScalar", Representation.pseudoscalar)


def T(p: int, q: int = 0) -> Expression:  # noqa: N802  (the name in the thesis)
    """V^(x)p (x) V*^(x)q."""
    return Expression(
        f"T({p},{q})" if q else f"T({p})",
        lambda group: Representation.vector(group) ** p * Representation.vector(group).dual ** q,
    )
