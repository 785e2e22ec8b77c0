"""Under which conditions a timer times at all."""

from __future__ import annotations

from timing_audit.model.program import External, Frame
from timing_audit.model.syntax import (
    Block, Compare, Const, Expr, If, Logical, Return, Unary,
)  # fmt: skip
from timing_audit.timing.names import Names, Vocabulary
from timing_audit.timing.positions import Position, Tree
from timing_audit.timing.substitute import negate
from timing_audit.timing.walk import text

NEVER = Const(False)
ALWAYS = Const(True)


class Gates:
    """Reads and simplifies conditions."""

    def __init__(self, names: Names, vocabulary: Vocabulary) -> None:
        self.names = names
        self.vocabulary = vocabulary

    def settle(self, frame: Frame, expr: Expr) -> Expr:
        """A condition in words that hold outside the frame: constants folded, a profiler's query put in words."""
        if type(expr) is Unary and expr.op == "not":
            return _invert(self.settle(frame, expr.value))
        if type(expr) is Logical:
            return _combine(expr.op, self.settle(frame, expr.left), self.settle(frame, expr.right))
        if type(expr) is Compare:
            return _none_test(expr)
        if type(expr) is Const:
            return expr if isinstance(expr.value, str) else Const(bool(expr.value))
        for value in self.names.values(frame, expr):
            if isinstance(value, External) and value.name.endswith("()"):
                rule = self.vocabulary.match_call(value.name[:-2])
                if rule is not None and rule.kind == "gate":
                    return Const(f"only while a {value.name.partition('.')[0]} profiler runs")
        return expr

    def around(self, frame: Frame, tree: Tree, position: Position) -> tuple[Expr, ...]:
        """What must hold for a position to be reached: the branches around it and the early exits before it."""
        found: list[Expr] = []
        for depth in range(len(position)):
            block = tree.block(position, depth)
            for earlier in block[: position[depth].at]:
                found += [negate(test) for test in _guards(earlier)]
            if depth + 1 < len(position):
                stmt = block[position[depth].at]
                if type(stmt) is If:
                    taken = position[depth + 1].branch == "body"
                    found.append(stmt.test if taken else negate(stmt.test))
        return self.all_of(frame, found)

    def all_of(self, frame: Frame, gates: list[Expr]) -> tuple[Expr, ...]:
        """The gates that are not always open, each once; `(NEVER,)` where one is always shut."""
        found: list[Expr] = []
        for gate in gates:
            settled = self.settle(frame, gate)
            if settled == NEVER:
                return (NEVER,)
            if settled != ALWAYS and settled not in found:
                found.append(settled)
        return tuple(found)


def _guards(stmt: object) -> list[Expr]:
    """Tests whose branch returns; one that raises only checks its arguments."""
    if type(stmt) is If and not stmt.orelse and _leaves(stmt.body):
        return [stmt.test]
    return []


def _leaves(block: Block) -> bool:
    return bool(block) and type(block[-1]) is Return


def _invert(expr: Expr) -> Expr:
    if type(expr) is Const and not isinstance(expr.value, str):
        return Const(not expr.value)
    return negate(expr)


def _combine(op: str, left: Expr, right: Expr) -> Expr:
    neutral, final = (ALWAYS, NEVER) if op == "and" else (NEVER, ALWAYS)
    if final in (left, right):
        return final
    if left == neutral:
        return right
    return left if right == neutral else Logical(op, left, right)


def _none_test(expr: Compare) -> Expr:
    """`x is None` where x is known; the test of a name against None stays as it is written."""
    if len(expr.items) == 2 and expr.items[1] == Const(None) and type(expr.items[0]) is Const:
        same = expr.items[0].value is None
        return Const(same if expr.ops == ("is",) else not same)
    return expr


def merged(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """All gates of both, each once."""
    return (*left, *(gate for gate in right if gate not in left))


def gate_text(gates: tuple[Expr, ...]) -> str:
    """The gates as one condition."""
    return " and ".join(_words(gate) for gate in gates)


def _words(gate: Expr) -> str:
    if type(gate) is Const and isinstance(gate.value, str):
        return gate.value
    if type(gate) is Unary and gate.op == "not" and type(gate.value) is Compare and len(gate.value.ops) == 1:
        opposite = OPPOSITE.get(gate.value.ops[0])
        if opposite is not None:
            return text(gate.value._replace(ops=(opposite,)))
    if type(gate) is Unary and type(gate.value) is Const:
        return f"not {_words(gate.value)}"
    if type(gate) is Unary and gate.op == "not" and type(gate.value) is Logical:
        return f"not ({_words(gate.value)})"
    if type(gate) is Logical:
        return f"{_words(gate.left)} {gate.op} {_words(gate.right)}"
    return text(gate)


OPPOSITE = {
    "in": "not-in",
    "is": "is-not",
    "==": "!=",
    "<": ">=",
    ">": "<=",
}
OPPOSITE.update({opposite: op for op, opposite in OPPOSITE.items()})
