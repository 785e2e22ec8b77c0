"""One body under one phase: the calls it makes, in order, on the branches that the phase takes."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from timing_audit.model.program import (
    ClassRef, External, Frame, FunctionRef, FunctionValue, Instance, Literal, PartialValue,
    Value, Values,
)  # fmt: skip
from timing_audit.model.syntax import (
    Assign, Attr, Await, Block, Call, Compare, Conditional, Evaluate, Expr, For, If, Jump, Logical, Match, Name, Raise,
    Return, Starred, Subscript, Try, Unary, Walrus, While, With,
)  # fmt: skip
from timing_audit.program.cells import EFFECTS
from timing_audit.program.classes import is_property
from timing_audit.program.engine import PHASES, Engine
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.phases import Phase, Phases
from timing_audit.program.written import written


class Edge(NamedTuple):
    """A call of `target` at a place in the caller's file.

    `how`: `exact`, `hierarchy` (of a declared type, the subclasses that are made), `hinted` (by a pack),
    `unique name` (no other class has such a method), `same name` (behind the boundary). `kind`: `call`,
    `property`, `context`, `callback`, `decorator`, `operator`. `text` is the callee as written. `loops` are the
    iterables of the loops around it in the body. `modes` are None in a body that was read for any phase.
    """

    line: int
    column: int
    end_line: int
    target: Frame
    modes: frozenset[str] | None
    how: str
    kind: str
    text: str
    loops: tuple[str, ...]


class Effect(NamedTuple):
    """The body may set the batch to this mode."""

    mode: str


class Walker:
    """Walks one body; `edges` and `effects` hold what it found."""

    def __init__(self, evaluator: Evaluator, phases: Phases, engine: Engine, frame: Frame, phase: Phase) -> None:
        self._evaluator = evaluator
        self._phases = phases
        self._engine = engine
        self._frame = frame
        self._phase = phase
        self._loops: tuple[str, ...] = ()
        self._line = 0
        self.edges: list[Edge] = []
        self.effects: set[str] = set()
        self.calls: list[Call] = []
        self.lines: set[int] = set()

    def run(self, body: Block) -> None:
        """Walks the body as far as the phase takes it."""
        if self._phases.excludes(self._phase, self._always(body)):
            return
        only = "" if self._frame.function is None else self._engine.only_phase(self._frame.function)
        if self._phase.name in PHASES and only not in ("", self._phase.name):
            self._pass_through(body, only)
        else:
            self._block(body)

    def _pass_through(self, body: Block, only: str) -> None:
        """What a function for another phase runs before it finds that it has nothing to do.

        That is all up to its first conditional return; without one, the calls of functions for the
        same phase, which have a guard of their own.
        """
        for place, statement in enumerate(cast("tuple[object, ...]", body)):
            if isinstance(statement, If) and ends_in_return(statement.body):
                self._block(body[:place])
                self._expr(statement.test)
                return
        self._block(body)
        marks = [(edge, edge.target.function) for edge in self.edges]
        self.edges = [edge for edge, ref in marks if ref is not None and self._engine.only_phase(ref) == only]

    def _always(self, body: Block) -> frozenset[str]:
        """The modes that the body sets on its own object whatever happens: it belongs to their phase."""
        found: frozenset[str] = frozenset()
        for statement in cast("tuple[object, ...]", body):
            if (
                isinstance(statement, Assign)
                and statement.value is not None
                and isinstance(statement.targets[0], Attr)
                and statement.targets[0].value == Name("self")
            ):
                found |= self._phases.mode_of(self._frame, statement.value)
        return found

    def _block(self, body: Block) -> bool:
        """Whether the end of the block may be reached."""
        for statement in body:
            self._line = statement.line
            self.lines.add(statement.line)
            if not self._statement(statement):
                return False
        return True

    def _statement(self, node: object) -> bool:
        handler = STATEMENTS.get(type(node))
        return True if handler is None else bool(handler(self, node))

    def _test(self, expr: object) -> bool | None:
        answer = self._phases.test(self._frame, expr, self._phase, self._line)
        self._expr(expr)
        return answer

    def _if(self, node: If) -> bool:
        if self._once(node.test):
            return self._block(node.orelse)
        answer = self._test(node.test)
        if answer is True:
            return self._block(node.body)
        if answer is False:
            return self._block(node.orelse)
        taken = self._block(node.body)
        return self._block(node.orelse) or taken

    def _once(self, test: object) -> bool:
        """`if not self._ready:` where `_ready` only ever turns true: its body runs once, not in every cycle."""
        if not (isinstance(test, Unary) and test.op == "not" and isinstance(test.value, Attr)):
            return False
        flag = test.value
        if flag.value != Name("self") or self._frame.receiver is None:
            return False
        return self._evaluator.attributes.turns_true_once(self._frame.receiver, flag.name)

    def _loop(self, count: str, body: Block, orelse: Block) -> bool:
        outer, self._loops = self._loops, (*self._loops, count)
        self._block(body)
        self._loops = outer
        return self._block(orelse)

    def _for(self, node: For) -> bool:
        self._expr(node.iterable)
        self._special(node.iterable, ("__iter__", "__next__"), "operator")
        return self._loop(written(node.iterable), node.body, node.orelse)

    def _while(self, node: While) -> bool:
        if self._test(node.test) is False:
            return self._block(node.orelse)
        self._loop(written(node.test), node.body, node.orelse)
        return True

    def _with(self, node: With) -> bool:
        for item in node.items:
            self._line = item.line
            self._expr(item.context)
            self._special(item.context, ("__enter__", "__exit__"), "context")
        return self._block(node.body)

    def _try(self, node: Try) -> bool:
        through = self._block(node.body)
        through = self._block(node.orelse) if through else False
        for handler in node.handlers:
            through = self._block(handler.body) or through
        return self._block(node.final) and through

    def _match(self, node: Match) -> bool:
        self._expr(node.subject)
        for case in node.cases:
            self._block(case.body)
        return True

    def _assign(self, node: Assign) -> bool:
        for target in node.targets:
            self._target(target)
        if node.value is not None:
            self._expr(node.value)
            for target in node.targets:
                self._mode(target, node.value)
        return True

    def _target(self, target: object) -> None:
        if isinstance(target, Attr):
            self._expr(target.value)
            self._setter(target)
        elif isinstance(target, Subscript):
            self._expr(target.value)
            self._expr(target.key)
            self._special(target.value, ("__setitem__",), "operator")

    def _setter(self, target: Attr) -> None:
        """`x.name = value` where the class of x defines a setter."""
        for value in self._evaluator.evaluate(self._frame, target.value):
            if isinstance(value, Instance):
                for ref in self._evaluator.attributes.possible(value):
                    setter = self._evaluator.classes.setter(ref, target.name)
                    if setter is not None:
                        self._edge(Frame(setter.path, setter, ref), "exact", "property", written(target))

    def _mode(self, target: object, value: object) -> None:
        if isinstance(target, Attr) or isinstance(value, Conditional):
            self._enter(self._phases.mode_of(self._frame, value))

    def _enter(self, modes: frozenset[str]) -> None:
        self.effects |= modes
        self._phase = self._phases.widened(self._phase, modes)

    def _evaluate(self, node: Evaluate) -> bool:
        if node.kind != "del":
            self._expr(node.value)
        return True

    def _return(self, node: Return) -> bool:
        if node.value is not None:
            self._expr(node.value)
        return False

    def _raise(self, node: Raise) -> bool:
        return False

    def _jump(self, node: Jump) -> bool:
        return node.kind == "pass"

    # Expressions.

    def _expr(self, expr: object) -> None:
        """Visits the parts of an expression that the phase evaluates, inner calls first."""
        for part in self._evaluator.operations(expr):
            OPERATIONS[type(part)](self, part)

    def _conditional(self, expr: Conditional) -> None:
        answer = self._test(expr.test)
        if answer is not False:
            self._expr(expr.body)
        if answer is not True:
            self._expr(expr.orelse)

    def _subscript(self, expr: Subscript) -> None:
        self._special(expr.value, ("__getitem__",), "operator")

    def _compare(self, expr: Compare) -> None:
        if expr.ops[0] in ("in", "not-in"):
            self._special(expr.items[1], ("__contains__",), "operator")

    def _logical(self, expr: Logical) -> None:
        answer = self._test(expr.left)
        if answer is None or answer is (expr.op == "and"):
            self._expr(expr.right)

    def _call(self, call: Call) -> None:
        self.calls.append(call)
        self._line = call.line
        values = self._evaluator.evaluate(self._frame, call.func)
        targets = self._evaluator.calls.targets(self._frame, call)
        if targets:
            text, how = written(call.func), self._how(call.func)
            for target in targets:
                self._edge(target.frame, how, target.how, text, call)
        for keyword in call.keywords:
            if keyword.name == "forward_mode":
                self._enter(self._phases.mode_of(self._frame, keyword.value))
        if not targets:
            self._callbacks(call, values)
            self._behind(call)

    def _behind(self, call: Call) -> None:
        """A call into code behind the boundary that is known to call back."""
        if isinstance(call.func, Attr):
            for target in self._engine.callbacks.get(call.func.name, ()):
                self._edge(target, "same name", "callback", written(call.func), call)

    def _how(self, func: object) -> str:
        if isinstance(func, Attr):
            if self._evaluator.is_guess(self._frame, func):
                return "unique name"
            bases = self._evaluator.evaluate(self._frame, func.value)
            if any(isinstance(base, Instance) and not base.exact for base in bases):
                return "hinted" if self._evaluator.attributes.is_hint(func.value, bases) else "hierarchy"
        return "exact"

    def _callbacks(self, call: Call, values: Values) -> None:
        """Functions handed to something outside, which may call them."""
        if any(isinstance(value, External) and value.name in HARMLESS for value in values):
            self._sized(call)
            return
        for arg in (*call.args, *[keyword.value for keyword in call.keywords]):
            for value in self._evaluator.evaluate(self._frame, arg) if type(arg) in HANDED else ():
                self._callback(call, value)

    def _callback(self, call: Call, value: Value) -> None:
        if isinstance(value, (FunctionValue, PartialValue)):
            for target in self._evaluator.calls.bodies(self._frame, self._evaluator.calls.bare(call), value):
                self._edge(target.frame, "exact", "callback", written(call.func), call)

    def _sized(self, call: Call) -> None:
        if call.args and isinstance(call.func, Name) and call.func.id in ("len", "bool", "iter", "next"):
            self._special(call.args[0], (f"__{call.func.id}__",), "operator")

    def _attribute(self, expr: Attr) -> None:
        if expr.name not in self._evaluator.classes.property_names:
            return
        for value in self._evaluator.evaluate(self._frame, expr.value):
            if isinstance(value, Instance):
                for ref in self._evaluator.attributes.possible(value):
                    self._getter(expr, ref, "exact" if value.exact else "hierarchy")

    def _getter(self, expr: Attr, ref: ClassRef, how: str) -> None:
        method = self._evaluator.classes.method(ref, expr.name)
        if method is not None and is_property(self._evaluator.library.function(method)):
            self._edge(Frame(method.path, method, ref), how, "property", written(expr))

    def _special(self, expr: Expr, names: tuple[str, ...], kind: str) -> None:
        for value in self._evaluator.evaluate(self._frame, expr):
            if isinstance(value, Instance):
                for name in names:
                    method = self._evaluator.classes.method(value.ref, name)
                    if method is not None:
                        self._edge(Frame(method.path, method, value.ref), "exact", kind, written(expr))

    def _edge(self, target: Frame, how: str, kind: str, text: str, call: Call | None = None) -> None:
        place = (call.line, call.column, call.end_line) if call is not None else (self._line, 1, self._line)
        self.edges.append(
            Edge(*place, target, self._phase.modes if self._phase.name else None, how, kind, text, self._loops)
        )
        if (
            self._phase.name
            and not self._enters_worker()
            and target.function is not None
            and not self._stops(target.function)
        ):
            key = (EFFECTS, target, *self._phase)
            self._enter(frozenset(str(v.value) for v in self._evaluator.cells.read(key) if isinstance(v, Literal)))

    def _enters_worker(self) -> bool:
        """The engine restores the batch's mode when a worker returns."""
        return self._frame.function is not None and self._engine.is_target_call(self._frame.function)

    def _stops(self, ref: FunctionRef) -> bool:
        return self._evaluator.library.is_leaf_path(ref.path) or bool(self._engine.mark(ref))


def ends_in_return(body: Block) -> bool:
    """Whether the last statement of a block is a `return`."""
    last: object = body[-1] if body else None
    return isinstance(last, Return)


HARMLESS = frozenset(
    (
        "builtins.isinstance",
        "builtins.len",
        "builtins.bool",
        "builtins.iter",
        "builtins.next",
        "builtins.hasattr",
        "builtins.print",
    )
)
# What may be a function; the rest of the expressions cannot.
HANDED = frozenset((Name, Attr, Call, Subscript, Conditional, Logical, Walrus, Await, Starred))
STATEMENTS: dict[type, Any] = {
    If: Walker._if,
    For: Walker._for,
    While: Walker._while,
    With: Walker._with,
    Try: Walker._try,
    Match: Walker._match,
    Assign: Walker._assign,
    Evaluate: Walker._evaluate,
    Return: Walker._return,
    Raise: Walker._raise,
    Jump: Walker._jump,
}
OPERATIONS: dict[type, Any] = {
    Call: Walker._call,
    Attr: Walker._attribute,
    Subscript: Walker._subscript,
    Compare: Walker._compare,
    Conditional: Walker._conditional,
    Logical: Walker._logical,
}
