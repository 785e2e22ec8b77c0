"""Where a call leads: into the tree, out of it, or nobody knows.

A call that was not resolved belongs to the frontier only if it may land in the tree: what is called through an
unknown object, by a name that no file before the boundary defines, cannot.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from timing_audit.model.program import (
    Bag, ClassValue, DictValue, External, Frame, FunctionValue, Instance, LambdaValue, Leaf, Literal, ModuleValue,
    PartialValue, Row, SuperValue, Value, Values,
)  # fmt: skip
from timing_audit.model.syntax import Attr, Call, Expr, Name
from timing_audit.program.engine import Engine
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.written import written

RESOLVED, EXTERNAL, FRONTIER = "resolved", "external", "frontier"
DEFINED, DECLARED = re.compile(rb"def (\w+)"), re.compile(rb"class (\w+)")
INSIDE = (FunctionValue, ClassValue, PartialValue, LambdaValue, Leaf)
METHODS: dict[type, frozenset[str]] = {
    Bag: frozenset(name for kind in (list, set, dict, frozenset) for name in dir(kind)),
    DictValue: frozenset(dir(dict)),
    Row: frozenset(dir(tuple)),
    FunctionValue: frozenset((*dir(written), "cache_clear", "cache_info")),
}
MOST_CLASSES = 3
LONGEST_TEXT = 60


class Verdict(NamedTuple):
    """`kind` is `resolved`, `external` or `frontier`; only the last has a reason."""

    kind: str
    reason: str = ""


class Frontier:
    """Judges the calls of bodies whose values are settled."""

    def __init__(self, evaluator: Evaluator, engine: Engine) -> None:
        self._evaluator = evaluator
        self._engine = engine
        self._known: dict[tuple[Frame, int], Verdict] = {}
        self._held: set[str] = set()
        self._words: dict[re.Pattern[bytes], frozenset[bytes]] = {}

    def judge(self, frame: Frame, call: Call) -> Verdict:
        """Where the call leads."""
        key = (frame, id(call))
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._known[key] = self._judge(frame, call)
        return verdict

    def _judge(self, frame: Frame, call: Call) -> Verdict:
        callee: object = call.func
        values = self._evaluator.evaluate(frame, call.func)
        if any(isinstance(value, INSIDE) for value in values) or self._evaluator.calls.targets(frame, call):
            return Verdict(RESOLVED)
        if any(isinstance(value, External) for value in values):
            return Verdict(EXTERNAL)
        if isinstance(callee, Attr) and not values:
            return self._method(frame, callee)
        if isinstance(callee, Name) and not values and self._is_parameter(frame, callee.id):
            return Verdict(FRONTIER, f"nothing is passed as `{callee.id}`")
        return Verdict(FRONTIER, _unknown(call.func, values))

    def _method(self, frame: Frame, callee: Attr) -> Verdict:
        if callee.name in self._engine.callbacks:
            return Verdict(RESOLVED)
        bases = self._evaluator.evaluate(frame, callee.value)
        if any(_has_builtin(value, callee.name) for value in bases) or not self._is_known(callee.name):
            return Verdict(EXTERNAL)
        lacking = sorted({_named(value) for value in bases} - {""})
        if lacking:
            more = ["others"] if len(lacking) > MOST_CLASSES else []
            return Verdict(FRONTIER, f"`{callee.name}` of {', '.join(lacking[:MOST_CLASSES] + more)} is unknown")
        return Verdict(FRONTIER, f"the receiver {_unknown(callee.value, bases)}")

    def _is_known(self, name: str) -> bool:
        """Whether a file before the boundary defines this name, or one that was read holds something under it."""
        if not self._held:
            self._held.update(name for unit in self._evaluator.library.units for name in unit.held())
        pattern = DECLARED if name[:1].isupper() else DEFINED
        if pattern not in self._words:
            self._words[pattern] = self._evaluator.library.words(pattern)
        return name.encode() in self._words[pattern] or name in self._held

    def _is_parameter(self, frame: Frame, name: str) -> bool:
        scope = self._evaluator.scope_of(frame)
        return scope is not None and name in scope.given


def _has_builtin(value: Value, name: str) -> bool:
    """Whether the value is a builtin object that has a method of this name."""
    if isinstance(value, Literal):
        return value.value is not None and hasattr(value.value, name)
    if isinstance(value, (Instance, ClassValue, SuperValue)):
        return hasattr(object, name)
    return name in METHODS.get(type(value), ())


def _named(value: Value) -> str:
    if isinstance(value, (Instance, ClassValue)):
        return value.ref.qualname
    return value.name if isinstance(value, ModuleValue) else ""


def _unknown(expr: Expr, values: Values) -> str:
    text = written(expr)
    text = text if len(text) <= LONGEST_TEXT else f"...{text[-LONGEST_TEXT:]}"
    if values and all(value == Literal(None) for value in values):
        return f"`{text}` is only ever None"
    return f"`{text}` is unknown"
