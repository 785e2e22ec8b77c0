"""Expressions of a body: where instants, events and contexts come from and where they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from timing_audit.model.program import Frame
from timing_audit.model.syntax import (
    Attr, Await, Binary, Call, Comprehension, Compare, Conditional, Const, Display, Expr, FString, Lambda, Logical,
    Name, Starred, Subscript, Unary, Walrus, Yield,
)  # fmt: skip
from timing_audit.model.timing import Clock
from timing_audit.timing.facts import NOTHING, Effect, Measure, Read, Timed, Val, join
from timing_audit.timing.positions import Position
from timing_audit.timing.state import Found, Places, State
from timing_audit.program.scopes import nodes
from timing_audit.timing.walk import root_name, terminal

THROUGH = frozenset(("int", "float", "round", "max", "min", "list", "tuple", "reversed", "sorted", "iter", "next"))
TAKING = frozenset(("pop", "popleft", "get", "popitem", "setdefault", "get_nowait"))
GIVING = frozenset(("append", "appendleft", "add", "put", "insert", "put_nowait", "setdefault", "extend"))
SYMBOL = Measure(Clock.HOST, "", "", (), ())


class Expressions:
    """Values of expressions; calls go to `on_call`, which the run sets."""

    def __init__(self, frame: Frame, places: Places, found: Found) -> None:
        self.frame = frame
        self.places = places
        self.found = found
        self.state = State()
        self.position: Position = ()
        self.line = 0
        self.compared = False
        self.on_call: Callable[[Call, bool], Val] = lambda call, context: NOTHING

    def value(self, expr: Expr | None) -> Val:
        """What the expression may be; its parts count as used."""
        if expr is None:
            return NOTHING
        maker = MAKERS.get(type(expr))
        if maker is not None:
            return maker(self, expr)  # type: ignore[no-any-return]
        for part in expr:
            self._each(part)
        return NOTHING

    def _each(self, part: object) -> None:
        if isinstance(part, tuple):
            if type(part) is tuple:
                for inner in part:
                    self._each(inner)
            elif part:
                self.use(self.value(part))  # type: ignore[arg-type]

    def use(self, value: Val) -> Val:
        """The value goes somewhere that is not followed."""
        self.found.used |= value.plus | value.minus
        return value

    def copied(self, expr: Expr) -> Val:
        """The value of the right side of an assignment: another name for it is no use of it."""
        if type(expr) in (Name, Attr, Subscript):
            return self.load(expr, using=False)
        return self.value(expr)

    def load(self, expr: Expr, *, using: bool = True) -> Val:
        """What a name, attribute or element holds."""
        key = self.places.key(expr)
        found = self.state.env.get(key)
        if found is None and type(expr) is Subscript:
            found = self._element(expr)
        if type(expr) is Attr:
            self.found.loads.add(key)
        if found is None:
            if using and type(expr) is Name:
                self.use(self.state.parts(key))
            return self._symbol(expr)
        return self.use(found) if using else found

    def _element(self, expr: Subscript) -> Val | None:
        base = self.places.key(expr.value)
        wild = self.state.env.get(f"{base}[*]", NOTHING)
        if type(expr.key) is not Const or wild != NOTHING or type(expr.key.value) is int:
            wild = join(wild, self.state.parts(base))
        return None if wild == NOTHING else wild

    def _symbol(self, expr: Expr) -> Val:
        """What a parameter or an outliving place may hold."""
        if type(expr) is Name:
            if expr.id not in self.places.params:
                return NOTHING
            return Val(plus=frozenset((Read(0, 0, (), SYMBOL, "param", expr),)))
        if not self.places.outlives(expr):
            return NOTHING
        return Val(plus=frozenset((Read(0, 0, (), SYMBOL, "place", self.places.canonical(expr)),)))

    def _place(self, expr: Expr) -> Val:
        if type(expr) is Subscript:
            self.value(expr.key)
        if isinstance(expr, (Attr, Subscript)) and type(expr.value) not in (Name, Attr, Subscript):
            self.value(expr.value)
        return self.load(expr)

    def _call(self, expr: Call) -> Val:
        return self.on_call(expr, False)

    def _binary(self, expr: Binary) -> Val:
        left, right = self.value(expr.left), self.value(expr.right)
        if expr.op == "-":
            return self.settle(_shift(left, right), right.plus, right)
        if expr.op == "+":
            merged = join(_shift(left, right), _shift(right, left))
            return self.settle(merged._replace(minus=frozenset()), left.minus | right.minus, right)
        return join(left, right)._replace(events=frozenset(), uses=())

    def settle(self, plus: Val, minus: frozenset[Read], right: Val) -> Val:
        """Pairs the ends with the starts of a sum; without both, it stays a sum."""
        ends = frozenset(read for read in plus.plus if read.source != "place")
        starts = minus | plus.minus
        pairs = [(end, start) for end in ends for start in starts if self.may_pair(start, end)]
        if not pairs:
            kept = right.minus if plus.plus & right.plus else frozenset()
            return Val(plus.plus, starts | kept, duration=plus.duration or right.duration)
        for end, start in pairs:
            self.pair(start, end)
        return Val(duration=True)

    def may_pair(self, start: Read, end: Read) -> bool:
        """Whether a difference of the two is a duration: a start was kept before its end was read."""
        if start.source == "read" and end.source == "read":
            same = (start.line, start.column) == (end.line, end.column)
            return not start.shifted and not same and start in self.found.bound
        return start.source == "place" or (start.source == "param" and end.source == "read")

    def pair(self, start: Read, end: Read) -> None:
        """A difference of two instants."""
        self.found.used |= {start, end}
        if start.source == "read" and end.source == "read":
            self.found.paired |= {start, end}
            self.state.open -= {start}
            if start.measure.family != end.measure.family:
                self.found.mixed.setdefault((start.line, end.line), (start, end))
            elif not self.compared:
                self.found.time(_timed(start, end))
        elif start.source == "place" or (start.source == "param" and end.source == "read"):
            if self.compared:
                return
            self._close(start.place, end)

    def _close(self, place: Expr, end: Read) -> None:
        param = end.place.id if end.source == "param" and type(end.place) is Name else ""
        effect = Effect(place, end.measure, False, param, end.line, self.position, primitive=end.primitive)
        self.found.closes.setdefault((str(place), end.line, param), effect)

    def _logical(self, expr: Logical) -> Val:
        left = self.value(expr.left)
        right = self.value(expr.right)
        return join(left, right)

    def _conditional(self, expr: Conditional) -> Val:
        self.use(self.value(expr.test))
        body, orelse = self._branch(expr.body, expr.orelse), self._branch(expr.orelse, expr.body)
        gated = tuple(_gate(use, expr.test) for use in body.uses if not orelse.uses)
        return join(body._replace(uses=gated or body.uses), orelse)

    def _branch(self, expr: Expr, other: Expr) -> Val:
        """One side of a conditional; beside a `nullcontext()` it is a context."""
        beside = type(other) is Call and terminal(other.func) == "nullcontext"
        return self.on_call(expr, True) if beside and type(expr) is Call else self.value(expr)

    def _compare(self, expr: Compare) -> Val:
        """A difference that is only compared measures nothing: it is a deadline."""
        before, self.compared = self.compared, True
        for item in expr.items:
            self.use(self.value(item))
        self.compared = before
        return NOTHING

    def _walrus(self, expr: Walrus) -> Val:
        before, self.compared = self.compared, False
        value = self.value(expr.value)
        self.compared = before
        self.store(Name(expr.target), value)
        return value

    def _inner(self, expr: Await | Starred) -> Val:
        return self.value(expr.value)

    def _unary(self, expr: Unary) -> Val:
        value = self.value(expr.value)
        return Val(value.minus, value.plus) if expr.op == "-" else NOTHING

    def _display(self, expr: Display) -> Val:
        found = NOTHING
        for item in expr.items:
            found = join(found, self.copied(item))
        return found

    def _yield(self, expr: Yield) -> Val:
        if expr.value is not None:
            self.use(self.value(expr.value))
        return NOTHING

    def _comprehension(self, expr: Comprehension) -> Val:
        for clause in expr.clauses:
            self.iterate(clause.target, clause.iterable)
            for condition in clause.conditions:
                self.use(self.value(condition))
        if expr.key is not None:
            self.use(self.value(expr.key))
        return self.value(expr.element)

    def _lambda(self, expr: Lambda) -> Val:
        for node in nodes((expr.body,)):
            if type(node) is Name and (value := self.state.env.get(node.id)) is not None:
                self.use(value)
        return NOTHING

    def _fstring(self, expr: FString) -> Val:
        for value in expr.values:
            self.use(self.value(value))
        return NOTHING

    # Stores.

    def store(self, target: Expr, value: Val) -> None:
        """Binds a name, attribute, element or tuple of these."""
        if type(target) is Display:
            for item in target.items:
                self.store(item, value)
        elif type(target) is Starred:
            self.store(target.value, value)
        elif type(target) in (Name, Attr, Subscript):
            key = self.places.key(target)
            self.note(target, key, value)
            self.state.set(key, value)

    def note(self, target: Expr, key: str, value: Val, *, accumulate: bool = False) -> None:
        """Remembers starts that are bound, and those that outlive the body."""
        reads = value.minus if accumulate else value.plus - {r for r in value.plus if r.shifted}
        for read in reads:
            if read.source == "read":
                if type(target) is not Name and self.found.bound.get(read, key) != key:
                    self.found.used.add(read)
                self.found.bound.setdefault(read, key)
                self.state.open |= {read}
            if self.places.outlives(target) and read.source != "place":
                param = root_name(read.place) if read.source == "param" else ""
                effect = Effect(
                    self.places.canonical(target), read.measure, accumulate, param, read.line or self.line,
                    self.position, primitive=read.primitive,
                )  # fmt: skip
                self.found.opens.setdefault((key, read.line, param), effect)
        for event in value.events:
            self.found.event_names.setdefault(event.key, set()).add(terminal(target))

    def grow(self, collection: Expr, value: Val) -> None:
        """Puts a value into a collection."""
        key = self.places.key(collection) + "[*]"
        self.state.env[key] = join(self.state.env.get(key, NOTHING), value)
        self.note(collection, key, value)

    def iterate(self, target: Expr, iterable: Expr) -> None:
        """Binds a loop's target to the elements of what it runs over."""
        if type(iterable) is Call and terminal(iterable.func) == "zip" and type(target) is Display:
            for item, source in zip(target.items, iterable.args, strict=False):
                self.store(item, self.elements(source))
        elif type(iterable) is Call and terminal(iterable.func) in ("items", "enumerate") and type(target) is Display:
            owner = iterable.func.value if type(iterable.func) is Attr else iterable
            self.store(target.items[-1], self.elements(iterable.args[0] if iterable.args else owner))
        else:
            self.store(target, self.elements(iterable))

    def elements(self, expr: Expr) -> Val:
        """What the elements of a collection may be."""
        if type(expr) in (Name, Attr, Subscript):
            return self.state.parts(self.places.key(expr))
        if type(expr) is Call and type(expr.func) is Attr and terminal(expr.func) in ("values", "copy"):
            return self.state.parts(self.places.key(expr.func.value))
        return self.value(expr)


def _shift(value: Val, by: Val) -> Val:
    """An instant to which something that is no instant was added."""
    if not value.plus or by.plus or by.minus:
        return value
    return value._replace(plus=frozenset(read._replace(shifted=True) for read in value.plus))


def _timed(start: Read, end: Read) -> Timed:
    return Timed(
        "read", start._replace(shifted=False), end.line, end.column, end.position,
        start.measure._replace(hops=start.measure.hops or end.measure.hops), start.label,
        synced=(start.synced, end.synced),
    )  # fmt: skip


def _gate(use: Any, test: Expr) -> Any:
    return use._replace(measure=use.measure._replace(gates=(*use.measure.gates, test)))


MAKERS: dict[type, Any] = {
    Name: Expressions.load,
    Attr: Expressions._place,
    Subscript: Expressions._place,
    Call: Expressions._call,
    Binary: Expressions._binary,
    Logical: Expressions._logical,
    Conditional: Expressions._conditional,
    Compare: Expressions._compare,
    Walrus: Expressions._walrus,
    Await: Expressions._inner,
    Starred: Expressions._inner,
    Unary: Expressions._unary,
    Display: Expressions._display,
    Yield: Expressions._yield,
    Comprehension: Expressions._comprehension,
    Lambda: Expressions._lambda,
    FString: Expressions._fstring,
    Const: lambda _self, _expr: NOTHING,
}
