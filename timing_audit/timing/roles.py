"""What part a function plays: hot, capture, cold, kernel or compiled."""

from __future__ import annotations

from timing_audit.model.pack import Packs
from timing_audit.model.program import External, Frame, FunctionRef, PartialValue
from timing_audit.model.syntax import Call, Decorator, Expr
from timing_audit.program.engine import Engine
from timing_audit.program.evaluate import Evaluator

JIT_KINDS = ("kernel", "compiled")


class Roles:
    """Decorators come first: a kernel is one wherever it is called."""

    def __init__(
        self, evaluator: Evaluator, packs: Packs, engine: Engine, hot: set[FunctionRef], capture: set[FunctionRef]
    ) -> None:
        self._evaluator = evaluator
        self._packs = packs
        self._engine = engine
        self._hot = hot
        self._capture = capture
        self._jit: dict[FunctionRef, tuple[str, str]] = {}
        self._roles: dict[FunctionRef, str] = {}

    def role(self, ref: FunctionRef) -> str:
        """One of the words of the report."""
        known = self._roles.get(ref)
        if known is None:
            known = self._roles[ref] = self._find_role(ref)
        return known

    def _find_role(self, ref: FunctionRef) -> str:
        jit = self.jit(ref)[0]
        if jit:
            return jit
        if ref in self._hot:
            return "hot"
        return "capture" if ref in self._capture or self._engine.mark(ref) == "capture" else "cold"

    def is_captured(self, ref: FunctionRef) -> bool:
        """Whether hot code also runs while a graph is recorded."""
        return ref in self._hot and ref in self._capture

    def jit(self, ref: FunctionRef) -> tuple[str, str]:
        """`kernel` or `compiled`, and the decorator that makes it so."""
        if ref not in self._jit:
            decorators = self._evaluator.function(ref).decorators
            found = (self._of_decorator(ref.path, decorator) for decorator in decorators)
            self._jit[ref] = next((answer for answer in found if answer[0]), ("", ""))
        return self._jit[ref]

    def _of_decorator(self, path: str, decorator: Decorator) -> tuple[str, str]:
        for name in self._names(Frame(path, None, None), decorator.value):
            rule = self._packs.match_call(name)
            if rule is not None and rule.kind in JIT_KINDS:
                return rule.kind, name
        return "", ""

    def _names(self, frame: Frame, expr: Expr) -> list[str]:
        func = expr.func if isinstance(expr, Call) else expr
        names = [value.name for value in self._evaluator.values(frame, func) if isinstance(value, External)]
        for value in self._evaluator.values(frame, expr):
            made = self._evaluator.expressions.get(value.key) if isinstance(value, PartialValue) else None
            if isinstance(made, Call) and isinstance(value, PartialValue) and made.args:
                names += self._names(value.frame, made.args[0])
        if isinstance(expr, Call) and "functools.partial" in names and expr.args:
            names += self._names(frame, expr.args[0])
        return sorted(names)
