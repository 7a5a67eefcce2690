"""Walking the tree of a claim's expression: one method per kind of node, and no other node is accepted."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from experiments.tabulation.expression import (
    REDUCTIONS,
    Expression,
    ExpressionError,
    Number,
    Scope,
    Truth,
    Value,
    absolute,
    as_number,
    as_truth,
    count,
    described,
    distinct_texts,
    inside,
    join,
    quantify,
    reduce,
)
from experiments.tabulation.files import suggest

_COMPARISONS: dict[type, tuple[str, Callable[[float, float], bool]]] = {
    ast.Lt: ("<", lambda left, right: left < right),
    ast.LtE: ("<=", lambda left, right: left <= right),
    ast.Gt: (">", lambda left, right: left > right),
    ast.GtE: (">=", lambda left, right: left >= right),
    ast.Eq: ("==", lambda left, right: left == right),
    ast.NotEq: ("!=", lambda left, right: left != right),
}
_OPERATIONS: dict[type, tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", lambda left, right: left + right),
    ast.Sub: ("-", lambda left, right: left - right),
    ast.Mult: ("*", lambda left, right: left * right),
    ast.Div: ("/", lambda left, right: left / right),
}


def evaluate(expression: Expression, scope: Scope) -> Truth:
    """Return whether ``expression`` is true in ``scope``; arithmetic errors pass through."""
    result = _Evaluation(scope, {}).visit(expression.tree)
    if not isinstance(result, Truth):
        raise ExpressionError("it is not a comparison, so it is neither true nor false")
    return result


class _Evaluation(ast.NodeVisitor):
    """One walk over a tree; ``names`` holds the variables of the comprehensions around the current node."""

    def __init__(self, scope: Scope, names: Mapping[str, Value]):
        self.scope, self.names = scope, names

    def generic_visit(self, node: ast.AST) -> Value:
        raise ExpressionError(f"{ast.unparse(node)} is not allowed ({type(node).__name__})")

    def visit_Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            return node.value
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return Number(float(node.value), ast.unparse(node))
        raise ExpressionError(f"the constant {ast.unparse(node)} is neither a number nor a label")

    def visit_Name(self, node: ast.Name) -> Value:
        if node.id not in self.names:
            raise ExpressionError(f"unknown name {node.id!r}; labels are written in quotes")
        return self.names[node.id]

    def visit_List(self, node: ast.List) -> Value:
        return [self.visit(element) for element in node.elts]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            truth = as_truth(operand, node)
            return Truth(None if truth.value is None else not truth.value, f"not ({truth.text})")
        if isinstance(node.op, ast.USub):
            number = as_number(operand, node)
            return Number(None if number.value is None else -number.value, f"-{inside(number)}")
        raise ExpressionError(f"{ast.unparse(node)} is not allowed")

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        if type(node.op) not in _OPERATIONS:
            raise ExpressionError(f"{ast.unparse(node)} is not allowed; operations are + - * /")
        sign, operation = _OPERATIONS[type(node.op)]
        left, right = as_number(self.visit(node.left), node), as_number(self.visit(node.right), node)
        value = None if left.value is None or right.value is None else operation(left.value, right.value)
        return Number(value, f"{inside(left)} {sign} {inside(right)}", joined=True)

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        return join([as_truth(self.visit(value), node) for value in node.values], isinstance(node.op, ast.And))

    def visit_Compare(self, node: ast.Compare) -> Value:
        values = [self.visit(operand) for operand in (node.left, *node.comparators)]
        for operator in node.ops:
            if type(operator) not in _COMPARISONS:
                raise ExpressionError(f"{ast.unparse(node)} is not allowed; comparisons are < <= > >= == !=")
        if all(isinstance(value, str) for value in values) and all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            pairs = zip(node.ops, values[:-1], values[1:], strict=True)
            return Truth(all((left == right) == isinstance(op, ast.Eq) for op, left, right in pairs), ast.unparse(node))
        numbers = [as_number(value, node) for value in values]
        texts = distinct_texts(numbers)
        held: list[bool | None] = []
        for operator, left, right in zip(node.ops, numbers[:-1], numbers[1:], strict=True):
            compare = _COMPARISONS[type(operator)][1]
            held.append(None if left.value is None or right.value is None else compare(left.value, right.value))
        signs = [_COMPARISONS[type(operator)][0] for operator in node.ops]
        text = texts[0] + "".join(f" {sign} {text}" for sign, text in zip(signs, texts[1:], strict=True))
        return Truth(None if None in held else all(held), text)

    def visit_ListComp(self, node: ast.ListComp) -> Value:
        return [evaluation.visit(node.elt) for evaluation in self._iterate(node.generators)]

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        return [evaluation.visit(node.elt) for evaluation in self._iterate(node.generators)]

    def _iterate(self, generators: Sequence[ast.comprehension]) -> Iterator["_Evaluation"]:
        if not generators:
            yield self
            return
        first, *others = generators
        items = self.visit(first.iter)
        if first.is_async or not isinstance(first.target, ast.Name) or not isinstance(items, list):
            raise ExpressionError(f"for {ast.unparse(first.target)} in ...: give one name and a list or rows()")
        for item in items:
            inner = _Evaluation(self.scope, {**self.names, first.target.id: item})
            kept = [as_truth(inner.visit(condition), condition) for condition in first.ifs]
            if any(truth.value is None for truth in kept):
                raise ExpressionError("an if in a comprehension may compare labels only, not cells")
            if all(truth.value for truth in kept):
                yield from inner._iterate(others)

    def visit_Call(self, node: ast.Call) -> Value:
        functions: dict[str, Callable[..., Value]] = {"cell": self._cell, "paper": self._paper, "abs": absolute}
        functions["spread"] = self._spread
        functions |= {"rows": lambda: list(self.scope.rows), "columns": lambda: list(self.scope.columns)}
        functions |= {name: partial(reduce, name) for name in REDUCTIONS}
        functions |= {"all": partial(quantify, True), "any": partial(quantify, False), "count": count}
        arities = {"cell": 2, "spread": 2, "paper": 2, "abs": 1, "rows": 0, "columns": 0, "all": 1, "any": 1, "count": 1}
        if not isinstance(node.func, ast.Name) or node.func.id not in functions:
            raise ExpressionError(f"{ast.unparse(node.func)} cannot be called; functions are {', '.join(sorted(functions))}")
        name = node.func.id
        if node.keywords or len(node.args) != arities.get(name, len(node.args)):
            raise ExpressionError(f"{ast.unparse(node)}: {name} takes {arities.get(name, 'only positional')} arguments")
        return functions[name](*[self.visit(argument) for argument in node.args])

    def _place(self, row: Value, column: Value) -> tuple[str, str]:
        for kind, label, known in (("row", row, self.scope.rows), ("column", column, self.scope.columns)):
            if not isinstance(label, str) or label not in known:
                raise ExpressionError(f"unknown {kind} {described(label)}; {suggest(str(label), known)}")
        return row, column

    def _cell(self, row: Value, column: Value) -> Number:
        return self._known("cell", self._place(row, column), self.scope.measured)

    def _spread(self, row: Value, column: Value) -> Number:
        return self._known("spread", self._place(row, column), self.scope.spreads)

    def _known(self, function: str, place: tuple[str, str], values: Mapping[tuple[str, str], float]) -> Number:
        if place not in values:
            self.scope.needed[place] = None
            return Number(None, f"{function}{place}")
        return Number(values[place], self.scope.format(place, values[place]))

    def _paper(self, row: Value, column: Value) -> Number:
        place = self._place(row, column)
        if place not in self.scope.paper:
            raise ExpressionError(f"the paper prints no number in the cell {place}")
        value = self.scope.paper[place]
        return Number(value, self.scope.format(place, value))
