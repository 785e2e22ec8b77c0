"""Types as written -> values."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from timing_audit.model.program import (
    NOTHING, Bag, ClassValue, External, Frame, Instance, Leaf, Row, Value, Values,
)  # fmt: skip
from timing_audit.model.syntax import Attr, Binary, Const, Display, Expr, Name, Subscript
from timing_audit.syntax.module import expression

if TYPE_CHECKING:
    from timing_audit.program.evaluate import Evaluator

ALTERNATIVES = frozenset(("Optional", "Union", "Annotated", "ClassVar", "Final", "Required"))
COLLECTIONS = frozenset(
    (
        "List", "Set", "FrozenSet", "Sequence", "Iterable", "Iterator", "Deque", "Collection", "Generator",
        "list", "set", "frozenset", "deque", "Queue",
    )
)  # fmt: skip
MAPPINGS = frozenset(("Dict", "Mapping", "MutableMapping", "DefaultDict", "OrderedDict", "dict", "defaultdict"))
parsed = lru_cache(maxsize=4096)(expression)


class Annotations:
    """Reads what annotations say about values."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def read(self, frame: Frame, expr: Expr | None) -> Values:
        """What a name annotated so may be; `frame` is that of the module."""
        if isinstance(expr, Const) and isinstance(expr.value, str):
            expr = parsed(expr.value)
        if isinstance(expr, (Name, Attr)):
            return self._plain(frame, expr)
        if isinstance(expr, Subscript):
            return self._generic(frame, expr)
        if isinstance(expr, Binary) and expr.op == "|":
            return self.read(frame, expr.left) | self.read(frame, expr.right)
        return NOTHING

    def _plain(self, frame: Frame, expr: Expr) -> Values:
        found: set[Value] = set()
        for value in self._evaluator.evaluate(frame, expr):
            if isinstance(value, ClassValue):
                found.add(Instance(value.ref, False))
            elif isinstance(value, (External, Leaf)) and value.name not in VAGUE:
                found.add(self._evaluator.outside.call(value))
        return frozenset(found)

    def _generic(self, frame: Frame, expr: Subscript) -> Values:
        base = expr.value
        name = base.name if isinstance(base, Attr) else base.id if isinstance(base, Name) else ""
        args = expr.key.items if isinstance(expr.key, Display) and expr.key.kind == "tuple" else (expr.key,)
        if name in ALTERNATIVES:
            return NOTHING.union(*(self.read(frame, arg) for arg in args))
        if name in COLLECTIONS:
            return frozenset((Bag(self.read(frame, args[0])),))
        if name in MAPPINGS and len(args) == 2:
            return frozenset((Bag(self.read(frame, args[1])),))
        if name in ("Tuple", "tuple"):
            return frozenset((Row(tuple(self.read(frame, arg) for arg in args)),))
        if name in ("Type", "type"):
            return frozenset(ClassValue(v.ref) for v in self.read(frame, args[0]) if isinstance(v, Instance))
        if name in ("Callable", "Literal"):
            return NOTHING
        return self._plain(frame, base)


VAGUE = frozenset(("typing.Any", "builtins.object", "typing.Callable", "typing.Self"))
