"""What a paper says its table shows, and whether our numbers show it too.

``claims.yaml`` is a list of ``{claim: "sentence", holds: "expression"}``; ``expression`` describes the language. A claim
is judged only when every cell it names is measured; until then it is missing, which is neither true nor false.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.tabulation.evaluation import evaluate
from experiments.tabulation.expression import Expression, ExpressionError, Place, Scope, parse
from experiments.tabulation.fields import Fields
from experiments.tabulation.files import one_line, read_yaml
from experiments.tabulation.measurement import Measurement
from experiments.tabulation.table import Metric, Statement, Table
from symlab.errors import TableError

_CELLS_LISTED = 3  # unmeasured cells named in a detail before it only counts them


@dataclass(frozen=True)
class Claim:
    """A judged statement: ``holds`` is None when a cell it needs is not measured; ``detail`` shows the numbers."""

    text: str
    holds: bool | None
    detail: str

    @property
    def verdict(self) -> str:
        """The word written to claims.csv."""
        return "missing" if self.holds is None else str(self.holds).lower()


def load_statements(
    file: Path, rows: Sequence[str], columns: Sequence[str], printed: Mapping[Place, float]
) -> tuple[Statement, ...]:
    """Read ``file`` and check each expression against the labels; a wrong one is a TableError naming file and claim."""
    data = read_yaml(file)
    if not isinstance(data, list) or not data:
        raise TableError(f"{file}: must be a list of at least one {{claim: ..., holds: ...}}")
    statements: list[Statement] = []
    for index, entry in enumerate(data):
        fields = Fields(entry, file, f"[{index}]", ("claim", "holds"))
        text, source = fields.text("claim"), fields.text("holds")
        statements.append(Statement(text, _checked(source, Scope(rows, columns, printed), f"{file}: claim {text!r}")))
    return tuple(statements)


def judge_claims(table: Table, measurements: Mapping[Place, Measurement]) -> list[Claim]:
    """Judge every statement of ``table`` on the cells of ``measurements`` that have a value."""
    metrics = {(row.label, column.label): table.metric(row, column) for row in table.rows for column in table.columns}
    measured = {place: cell.value for place, cell in measurements.items() if cell.value is not None}
    spreads = {place: cell.spread for place, cell in measurements.items() if cell.spread is not None}
    printed = {place: value.value for place, value in table.paper_values.items() if value.value is not None}
    return [_judge(statement, table, measured, spreads, printed, metrics) for statement in table.statements]


def _judge(
    statement: Statement,
    table: Table,
    measured: Mapping[Place, float],
    spreads: Mapping[Place, float],
    printed: Mapping[Place, float],
    metrics: Mapping[Place, Metric],
) -> Claim:
    scope = Scope(
        table.row_labels,
        table.column_labels,
        printed,
        measured,
        lambda place, value: metrics[place].format(value),
        spreads=spreads,
    )
    try:
        truth = evaluate(statement.expression, scope)
    except ArithmeticError as error:
        return Claim(statement.text, None, f"cannot be computed: {one_line(error)}")
    if truth.value is None:
        return Claim(statement.text, None, f"not measured: {_listed(scope.needed)}")
    return Claim(statement.text, truth.value, truth.text)


def _checked(source: str, scope: Scope, where: str) -> Expression:
    try:
        expression = parse(source)
        evaluate(expression, scope)
    except (ExpressionError, ArithmeticError, RecursionError) as error:
        raise TableError(f"{where}: {one_line(error)}") from None
    return expression


def _listed(places: Collection[Place]) -> str:
    names = [f"{row} / {column}" for row, column in list(places)[:_CELLS_LISTED]]
    more = len(places) - len(names)
    return "; ".join(names) + (f" and {more} more" if more else "")
