"""Statements of a body, in the order in which they run: pairs reads, follows contexts, sees skipped ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from timing_audit.model.program import ClassValue, Frame
from timing_audit.model.syntax import (
    Assign, Attr, Block, Call, Comprehension, Const, Display, Evaluate, Expr, For, Function, If, Jump, Mapping, Match,
    Name, Nested, Raise, Return, Stmt, Subscript, Try, While, With,
)  # fmt: skip
from timing_audit.model.timing import Purpose
from timing_audit.timing.calls import Calls, Inference
from timing_audit.timing.effects import Effects
from timing_audit.timing.evaluate import Expressions
from timing_audit.timing.facts import NOTHING, Effect, Exit, Read, Timed, Use, Val, join
from timing_audit.timing.positions import Step, Tree
from timing_audit.timing.state import Found, Places, State, merge
from timing_audit.program.scopes import nodes
from timing_audit.timing.walk import terminal, text


NULL = "nullcontext"


DEEPEST_LOOPS = 4
"""Each loop around a body doubles how often it is run."""


class Flow:
    """One run over one body."""

    def __init__(
        self, frame: Frame, function: Function | None, block: Block, calls: Calls, inference: Inference
    ) -> None:
        params = tuple(param.name for param in function.params if param.name) if function is not None else ()
        self.tree = Tree(block)
        self.places = Places(frame.path, params, block)
        self.found = Found()
        self.on = Expressions(frame, self.places, self.found)
        self.effects = Effects(self.on, calls, inference)
        self.on.on_call = self.effects.call
        self.effects.enter = self._entered
        self.calls = calls
        self.inference = inference
        self._breaks: list[list[State]] = []
        self._raised: list[list[State]] = []
        self._exits: list[tuple[str, int, State, int]] = []

    def run(self) -> Found:
        """Everything found; run once."""
        self.block(self.tree.root, "", State())
        for kind, line, state, _depth in self._exits:
            self._skipped(kind, line, state.open)
        return self.found

    def block(self, block: Block, branch: str, state: State | None) -> State | None:
        """Runs a block; None where no path leaves it at its end."""
        above = self.on.position
        for index, stmt in enumerate(block):
            if state is None:
                break
            self.on.position = (*above, Step(branch, index))
            state = self.statement(stmt, state)
        self.on.position = above
        return state

    def statement(self, stmt: Stmt, state: State) -> State | None:
        """Runs one statement."""
        node: object = stmt
        handler = HANDLERS.get(type(node))
        self.on.state, self.on.line = state, stmt.line
        return handler(self, stmt, state) if handler is not None else state

    def _assign(self, stmt: Assign, state: State) -> State:
        if stmt.value is None:
            return state
        if stmt.op:
            self._augment(stmt, stmt.value)
            return state
        for target in stmt.targets:
            if type(target) is Display and type(stmt.value) is Display and len(target.items) == len(stmt.value.items):
                values = [self.on.copied(item) for item in stmt.value.items]
                for item, value in zip(target.items, values, strict=False):
                    self.on.store(item, value)
            else:
                self._bind(target, stmt.value)
        return state

    def _bind(self, target: Expr, expr: Expr) -> None:
        if type(target) is Display and type(expr) in (Name, Attr, Subscript):
            self._unpack(target, expr)
            return
        if type(target) is Display or not isinstance(expr, (Display, Mapping, Comprehension)):
            self.on.store(target, self._made(target, expr))
            return
        key = self.places.key(target)
        values = [(name, self.on.copied(item)) for name, item in _items(expr)]
        self.on.state.set(key, NOTHING)
        for name, value in values:
            self.on.note(target, key, value)
            self.on.state.env[f"{key}[{name}]"] = value

    def _unpack(self, target: Display, expr: Expr) -> None:
        key = self.places.key(expr)
        for place, item in enumerate(target.items):
            value = self.on.state.env.get(f"{key}[{place}]")
            self.on.store(item, self.on.state.parts(key) if value is None else value)

    def _made(self, target: Expr, expr: Expr) -> Val:
        """The value of a right side; an object that starts its clock when it is made is known by its target."""
        value = self.on.copied(expr)
        if type(expr) is Call and type(target) in (Name, Attr):
            role = self.calls.role(self.on.frame, expr)
            if role is not None and isinstance(role.value, ClassValue):
                self.effects.apply(expr, role.value, target)
        return value

    def _augment(self, stmt: Assign, expr: Expr) -> None:
        target, value = stmt.targets[0], self.on.value(expr)
        key = self.places.key(target)
        current = self.on.state.env.get(key, NOTHING)
        if stmt.op == "-=" and value.plus:
            fresh = Val(minus=value.plus)
            self.on.note(target, key, fresh, accumulate=True)
            self.on.state.env[key] = join(current, fresh)
        elif stmt.op == "+=" and any(read.source == "read" for read in value.plus):
            self._accumulate(target, key, current, value)

    def _accumulate(self, target: Expr, key: str, current: Val, value: Val) -> None:
        ends = sorted((read for read in value.plus if read.source == "read"), key=str)
        for end in ends:
            for start in sorted(current.minus, key=str):
                self.on.pair(start, end)
            if not current.minus and self.places.outlives(target):
                place = self.places.canonical(target)
                effect = Effect(place, end.measure, True, "", end.line, self.on.position, primitive=end.primitive)
                self.found.closes.setdefault((key, end.line, ""), effect)
        self.on.state.set(key, NOTHING)

    def _evaluate(self, stmt: Evaluate, state: State) -> State:
        self.on.use(self.on.value(stmt.value))
        return state

    def _return(self, stmt: Return, state: State) -> None:
        if stmt.value is not None:
            value = self._given_back(stmt.value)
            self.on.use(value)
            if type(stmt.value) in (Name, Attr) and not value.uses:
                value = self.effects.context(stmt.value) if type(stmt.value) is Attr else value
            self.found.returned += [use for use in value.uses if use not in self.found.returned]
            self.found.returns[stmt.line] = stmt.value, value
        self._exits.append(("return", stmt.line, state, len(self._breaks)))

    def _given_back(self, expr: Expr) -> Val:
        """Beside a `return nullcontext()`, a returned call gives a context."""
        if type(expr) is Call and terminal(expr.func) != NULL and self._may_give_null:
            return self.effects.context(expr)
        return self.on.value(expr)

    @cached_property
    def _may_give_null(self) -> bool:
        returned = (node.value for node in nodes(self.tree.root) if type(node) is Return)
        return any(type(value) is Call and terminal(value.func) == NULL for value in returned)

    def _raise(self, stmt: Raise, state: State) -> None:
        if stmt.value is not None:
            self.on.use(self.on.value(stmt.value))
        if self._raised:
            self._raised[-1].append(state)
        else:
            self._exits.append(("raise", stmt.line, state, len(self._breaks)))

    def _jump(self, stmt: Jump, state: State) -> State | None:
        if stmt.kind == "pass":
            return state
        if self._breaks:
            self._breaks[-1].append(state)
            self._exits.append((stmt.kind, stmt.line, state, len(self._breaks)))
        return None

    def _if(self, stmt: If, state: State) -> State | None:
        self.on.use(self.on.value(stmt.test))
        body = self.block(stmt.body, "body", state.copy())
        orelse = self.block(stmt.orelse, "orelse", state.copy())
        return merge([body, orelse], state)

    def _while(self, stmt: While, state: State) -> State | None:
        def header() -> None:
            self.on.use(self.on.value(stmt.test))

        return self._loop(stmt, header, state, endless=type(stmt.test) is Const and bool(stmt.test.value))

    def _for(self, stmt: For, state: State) -> State | None:
        self.on.use(self.on.value(stmt.iterable))

        def header() -> None:
            self.on.iterate(stmt.target, stmt.iterable)

        return self._loop(stmt, header, state, endless=False)

    def _loop(self, stmt: While | For, header: Callable[[], None], state: State, *, endless: bool) -> State | None:
        """Runs a body twice, so that what one turn leaves meets the next; deep in other loops once."""
        self._breaks.append([])
        outer, mark = state.open, len(self._exits)
        turn: State | None = state.copy()
        for _ in range(2 if len(self._breaks) <= DEEPEST_LOOPS else 1):
            if turn is not None:
                entry = turn.copy()
                self.on.state = turn
                header()
                turn = merge([entry, self.block(stmt.body, "body", turn)])
        left = self._breaks.pop()
        self._leave(mark, outer)
        self.on.state = turn or state
        if turn is not None:
            turn = self.block(stmt.orelse, "orelse", turn)
        return merge([None if endless and not left else turn, *left])

    def _leave(self, mark: int, outer: frozenset[Read]) -> None:
        """Breaks of a loop skip only the ends of what the loop itself started."""
        kept = self._exits[:mark]
        for kind, line, state, depth in self._exits[mark:]:
            if kind in ("break", "continue") and depth == len(self._breaks) + 1:
                self._skipped(kind, line, state.open - outer)
            else:
                kept.append((kind, line, state, depth))
        self._exits = kept

    def _skipped(self, kind: str, line: int, starts: frozenset[Read]) -> None:
        for start in starts:
            self.found.exits.setdefault((kind, line, start.line), Exit(kind, line, start))

    def _try(self, stmt: Try, state: State) -> State | None:
        mark = len(self._exits)
        if stmt.handlers:
            self._raised.append([])
        body = self.block(stmt.body, "body", state.copy())
        caught = self._raised.pop() if stmt.handlers else []
        ends = [self.block(stmt.orelse, "orelse", body)]
        thrown = merge([state.copy(), body, *caught])
        for place, handler in enumerate(stmt.handlers):
            if thrown is not None:
                ends.append(self.block(handler.body, f"handler{place}", thrown.copy()))
        after = merge(ends)
        return self._final(stmt, mark, after, thrown) if stmt.final else after

    def _final(self, stmt: Try, mark: int, after: State | None, thrown: State | None) -> State | None:
        """Every way out of the statement runs its `finally` first."""
        pending = self._exits[mark:]
        self._exits = self._exits[:mark]
        for kind, line, state, depth in pending:
            ended = self.block(stmt.final, "final", state.copy())
            if ended is not None:
                self._exits.append((kind, line, ended, depth))
        if after is not None:
            return self.block(stmt.final, "final", after)
        if not pending and thrown is not None:
            self.block(stmt.final, "final", thrown.copy())
        return None

    def _match(self, stmt: Match, state: State) -> State | None:
        self.on.use(self.on.value(stmt.subject))
        ends = [self.block(case.body, f"case{place}", state.copy()) for place, case in enumerate(stmt.cases)]
        return merge([state, *ends], state)

    def _with(self, stmt: With, state: State) -> State | None:
        for place, item in enumerate(stmt.items):
            self.on.line = item.line
            value = self.effects.context(item.context)
            self.on.use(value)
            later = tuple((other.line, other.column) for other in stmt.items[place + 1 :])
            for use in value.uses:
                self._span(use, stmt, item.line, item.column, later, item.context)
            if item.target is not None:
                self.on.store(item.target, value)
        return self.block(stmt.body, "body", state)

    def _span(
        self, use: Use, stmt: With, line: int, column: int, later: tuple[tuple[int, int], ...], context: Expr
    ) -> None:
        if type(context) is Call or type(context).__name__ in ("Conditional", "Walrus"):
            line, column = use.line, use.column
        else:
            self.effects.site(
                Call(context, (), (), line, column, line), use.kind, Purpose.TIMING, use.measure.rule, use.measure,
                use.label,
            )  # fmt: skip
        start = Read(
            line, column, self.on.position, use.measure, label=use.label, primitive=use.primitive,
            constant=use.constant,
        )  # fmt: skip
        self.found.time(
            Timed("span", start, stmt.end_line, 0, self.on.position, use.measure, use.label, later, use.synced)
        )

    def _entered(self, stack: Expr, use: Use) -> None:
        """`stack.enter_context(...)`: it lasts to the end of the `with` that made the stack."""
        key = text(stack)
        for depth in range(len(self.on.position) - 1, 0, -1):
            stmt = self.tree.statement(self.on.position[:depth])
            if type(stmt) is With and any(item.target is not None and text(item.target) == key for item in stmt.items):
                start = Read(
                    use.line, use.column, self.on.position, use.measure, label=use.label, primitive=use.primitive,
                    constant=use.constant,
                )  # fmt: skip
                end = self.on.position[:depth]
                self.found.time(Timed("enter", start, stmt.end_line, 0, end, use.measure, use.label, (), use.synced))
                return

    def _nested(self, stmt: Nested, state: State) -> State:
        """A nested function may use any name of the body: nothing that is bound so far is called unused."""
        for value in state.env.values():
            self.on.use(value)
        return state


def _items(expr: Display | Mapping | Comprehension) -> list[tuple[str, Expr]]:
    """What a collection holds, each with the key that picks it; `*` for any."""
    if isinstance(expr, Display):
        return [(str(place), item) for place, item in enumerate(expr.items)]
    if isinstance(expr, Mapping):
        return [(text(key), value) for key, value in zip(expr.keys, expr.values, strict=False) if key is not None]
    return [("*", expr)]


HANDLERS: dict[type, Callable[..., State | None]] = {
    Assign: Flow._assign,
    Evaluate: Flow._evaluate,
    Return: Flow._return,
    Raise: Flow._raise,
    Jump: Flow._jump,
    If: Flow._if,
    While: Flow._while,
    For: Flow._for,
    Try: Flow._try,
    Match: Flow._match,
    With: Flow._with,
    Nested: Flow._nested,
}
