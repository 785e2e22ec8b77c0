"""What decorators hand to functions when a module is imported: the definitions below them.

Registries are filled this way. A decorator is followed only for a parameter to which nothing else is
passed; the calls among a module's statements are the explorer's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from timing_audit.model.program import ClassRef, ClassValue, Frame, FunctionRef, FunctionValue, Value, Values
from timing_audit.model.syntax import Decorator, Expr
from timing_audit.program.library import Unit, decorator_name, ref_of

if TYPE_CHECKING:
    from timing_audit.program.evaluate import Evaluator


class Registrations:
    """Knows by name which decorators the modules read so far apply; tells the parameters that asked."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._decorated: dict[str, list[tuple[Unit, Decorator, Value]]] = {}
        self._asked: dict[str, set[tuple[Frame, str]]] = {}

    def note(self, unit: Unit) -> None:
        """Takes in a module; the parameters that it may fill are asked again."""
        names = set()
        for name, decorator, value in _decorated(unit):
            self._decorated.setdefault(name, []).append((unit, decorator, value))
            names.add(name)
        for name in names & self._asked.keys():
            for frame, param in self._asked[name]:
                self._evaluator.cells.poke(("param", frame, param))

    def passed(self, frame: Frame, ref: FunctionRef, param: str) -> Values:
        """What decorators give to the first parameter of a function, or of one around it."""
        names = set(ref.qualname.split("."))
        for name in names:
            self._asked.setdefault(name, set()).add((frame, param))
        return frozenset(self._applied(ref, names))

    def _applied(self, ref: FunctionRef, names: set[str]) -> Iterator[Value]:
        for name in sorted(names & self._decorated.keys()):
            for unit, decorator, value in list(self._decorated[name]):
                if self._leads_to(unit, decorator.value, ref):
                    yield value

    def _leads_to(self, unit: Unit, expr: Expr, ref: FunctionRef) -> bool:
        values = self._evaluator.evaluate(Frame(unit.path, None, None), expr)
        return any(isinstance(value, FunctionValue) and value.ref == ref for value in values)


def _decorated(unit: Unit) -> Iterator[tuple[str, Decorator, Value]]:
    definitions: list[tuple[tuple[Decorator, ...], Value]] = [
        (function.decorators, FunctionValue(ref_of(unit, function), None, None))
        for function in unit.outline.functions
        if not function.owner
    ]
    definitions += [(cls.decorators, ClassValue(ClassRef(unit.path, cls.qualname))) for cls in unit.outline.classes]
    for decorators, value in definitions:
        for decorator in decorators:
            yield decorator_name(decorator.value), decorator, value
