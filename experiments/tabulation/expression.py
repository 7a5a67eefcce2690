"""The little language of ``claims.yaml``: Python's syntax, a whitelist of its nodes, and nothing else of Python.

Numbers, strings and lists; ``cell(row, column)`` (our number), ``spread(row, column)`` (its standard deviation over seeds),
``paper(row, column)`` (the printed one), ``rows()``, ``columns()``; ``+ - * /``, comparisons (chained too), ``and or not``;
``min max mean abs``; ``all``, ``any`` and ``count`` (how many are true) over a list or a comprehension, whose ``if`` may
compare labels. Nothing short-circuits, so that evaluating an expression once without any measurement finds every wrong
label, and a value that needs an unmeasured cell is None up to the top.
"""

import ast
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

LONGEST = 2000  # characters; keeps the parser's recursion shallow
Place = tuple[str, str]
REDUCTIONS: dict[str, Callable[[list[float]], float]] = {"min": min, "max": max, "mean": statistics.fmean}


class ExpressionError(Exception):
    """The expression is not in the language or names a label that does not exist."""


@dataclass(frozen=True)
class Number:
    """A number, None if a cell it needs is not measured, and how it is written with the numbers filled in."""

    value: float | None
    text: str
    joined: bool = False  # an operation that needs parentheses inside another one


@dataclass(frozen=True)
class Truth:
    value: bool | None
    text: str


Value = Any  # a Number, a Truth, a string or a list of these; each operation checks what it is given


@dataclass
class Scope:
    """What an expression may refer to; ``needed`` collects the unmeasured cells it asked for, in order."""

    rows: Sequence[str]
    columns: Sequence[str]
    paper: Mapping[Place, float]
    measured: Mapping[Place, float] = field(default_factory=dict)
    format: Callable[[Place, float], str] = lambda place, value: repr(value)
    needed: dict[Place, None] = field(default_factory=dict)
    spreads: Mapping[Place, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Expression:
    """A parsed expression; ``evaluation.evaluate`` gives its truth in a scope."""

    source: str
    tree: ast.expr


def parse(source: str) -> Expression:
    """Parse ``source`` without evaluating it; only syntax is checked."""
    if len(source) > LONGEST:
        raise ExpressionError(f"it is longer than {LONGEST} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python only doubts, such as "\\d", is wrong here
            return Expression(source, ast.parse(source.strip(), mode="eval").body)
    except (SyntaxError, Warning, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"it does not parse: {getattr(error, 'msg', error)}") from None


def absolute(value: Value) -> Number:
    number = as_number(value)
    return Number(None if number.value is None else abs(number.value), f"abs({number.text})")


def reduce(name: str, *values: Value) -> Number:
    items = values[0] if len(values) == 1 and isinstance(values[0], list) else list(values)
    numbers = [as_number(item) for item in items]
    if not numbers:
        raise ExpressionError(f"{name} of nothing")
    known = [number.value for number in numbers if number.value is not None]
    value = REDUCTIONS[name](known) if len(known) == len(numbers) else None
    return Number(value, f"{name}({', '.join(number.text for number in numbers)})")


def quantify(every: bool, items: Value) -> Truth:
    if not isinstance(items, list) or not items:
        raise ExpressionError(f"{'all' if every else 'any'} needs a list or a comprehension that is not empty")
    return join([as_truth(item) for item in items], every)


def count(items: Value) -> Number:
    """How many of the comparisons are true; unknown as long as one of them is."""
    if not isinstance(items, list) or not items:
        raise ExpressionError("count needs a list or a comprehension that is not empty")
    truths = [as_truth(item) for item in items]
    values = [truth.value for truth in truths]
    return Number(None if None in values else float(values.count(True)), f"count({', '.join(t.text for t in truths)})")


def join(truths: Sequence[Truth], every: bool) -> Truth:
    """Combine with and (``every``) or or; an unmeasured part leaves the whole undecided, whatever the others say."""
    values = [truth.value for truth in truths]
    text = (" and " if every else " or ").join(truth.text for truth in truths)
    if None in values:
        return Truth(None, text)
    return Truth(all(values) if every else any(values), text)


def distinct_texts(numbers: Sequence[Number]) -> list[str]:
    """Return the texts; all digits where rounding would show different neighbours as the same (99.38 > 99.38)."""
    texts = [number.text for number in numbers]
    for index, (left, right) in enumerate(pairwise(numbers)):
        if left.text == right.text and left.value != right.value:
            texts[index], texts[index + 1] = repr(left.value), repr(right.value)
    return texts


def as_number(value: Value, node: ast.AST | None = None) -> Number:
    if not isinstance(value, Number):
        raise ExpressionError(f"{_where(node)}{described(value)} is not a number")
    return value


def as_truth(value: Value, node: ast.AST | None = None) -> Truth:
    if not isinstance(value, Truth):
        raise ExpressionError(f"{_where(node)}{described(value)} is not a comparison")
    return value


def described(value: Value) -> str:
    return value.text if isinstance(value, Number | Truth) else repr(value) if isinstance(value, str) else "a list"


def inside(number: Number) -> str:
    return f"({number.text})" if number.joined else number.text


def _where(node: ast.AST | None) -> str:
    return f"{ast.unparse(node)}: " if node is not None else ""
