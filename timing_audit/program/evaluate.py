"""What an expression may be: abstract values by demand, over constructors, attributes, parameters and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from timing_audit.model.program import (
    NOTHING, Bag, ClassRef, ClassValue, DictValue, External, Frame, FunctionRef, FunctionValue, Instance, LambdaValue,
    Leaf, Literal, Row, Value, Values,
)  # fmt: skip
from timing_audit.model.syntax import (
    Attr, Await, Binary, Block, Call, Class, Compare, Comprehension, Conditional, Const, Display, Expr, FString,
    Function, Lambda, Logical, Mapping, Name, Starred, Subscript, Unary, Walrus,
)  # fmt: skip
from timing_audit.program.annotations import Annotations
from timing_audit.program.attributes import Attributes
from timing_audit.program.binding import Bindings
from timing_audit.program.calls import Calls
from timing_audit.program.cells import Cell, Cells, Key
from timing_audit.program.classes import Classes
from timing_audit.program.names import Names
from timing_audit.program.operations import chain, list_operations
from timing_audit.program.values import bag, shallow, union
from timing_audit.program.library import Library
from timing_audit.program.outside import ANYTHING, Outside
from timing_audit.program.registration import Registrations
from timing_audit.program.scopes import Scope


A_NUMBER = frozenset((Literal(2),))
"""All numbers are one value: nothing is looked up by them, and sets of values stay small."""


class Evaluator:
    """Abstract values of the expressions of a target.

    The parts share this one object: `attributes` looks names up on values, `calls` finds what a call
    runs, `bindings` remembers what was passed to whom, `annotations` reads types.
    """

    def __init__(self, library: Library, vocabulary: Iterable[str]) -> None:
        self.library = library
        self.outside = Outside(vocabulary)
        self.classes = Classes(library)
        self.cells = Cells(self._compute)
        self.bindings = Bindings(self)
        self.annotations = Annotations(self)
        self.attributes = Attributes(self)
        self.calls = Calls(self)
        self.registrations = Registrations(self)
        self.names = Names(self)
        self.expressions: dict[int | str, Expr] = {}
        self._operations: dict[int, tuple[Any, list[Any]]] = {}
        self._spots: dict[tuple[Frame, int], Cell] = {}
        self.blanks: set[Key] = set()
        self.guesses: dict[Key, Values] = {}
        self._open_tables: set[DictValue] = set()
        self.kinds: dict[str, Callable[..., Values]] = {
            "local": self.names.local,
            "global": self.names.of_module,
            "returns": self.names.returns,
            "dotted": self._dotted,
            "on": self._on,
            "called": self._called,
            "attr": self.attributes.stored,
            "made": self.attributes.made,
            "stores": self.attributes.receivers,
            "store": self.attributes.receiver,
            "param": self.bindings.passed,
            "lambda": self.bindings.applied,
            "fields": self.calls.constructions,
            "wrapped": self.calls.wrapped,
        }

    # What other passes ask.

    def values(self, frame: Frame, expr: Expr) -> Values:
        """The settled values of an expression in a body."""
        self.evaluate(frame, expr)
        self.cells.conclude()
        return self.evaluate(frame, expr)

    def function(self, ref: FunctionRef) -> Function:
        """The outline of a function."""
        return self.library.function(ref)

    def body(self, ref: FunctionRef) -> Block:
        """The statements of a function."""
        return self.library.body(ref)

    def class_(self, ref: ClassRef) -> Class:
        """The outline of a class."""
        return self.library.class_(ref)

    def method(self, cls: ClassRef, name: str) -> FunctionRef | None:
        """The method that a call on an object of this class runs."""
        return self.classes.method(cls, name)

    def frame_of(self, value: FunctionValue) -> Frame:
        """The frame in which a function value runs; an unbound method runs on its own class."""
        ref = value.ref
        function = self.library.function(ref)
        receiver = value.receiver
        if receiver is None and function.in_class:
            receiver = ClassRef(ref.path, function.owner)
        return Frame(ref.path, ref, receiver)

    # Expressions.

    def evaluate(self, frame: Frame, expr: Expr) -> Values:
        """What is known by now; inside a cell, the cell is computed again when more is known."""
        maker = MAKERS.get(type(expr))
        return NOTHING if maker is None else maker(self, frame, expr)

    def remember(self, expr: Expr) -> int:
        """A key by which a value can refer to an expression."""
        self.expressions[id(expr)] = expr
        return id(expr)

    def operations(self, expr: Any) -> list[Any]:
        """The parts of an expression that may run something, in the order in which they do, itself last."""
        known = self._operations.get(id(expr))
        if known is None:
            found: list[Any] = []
            list_operations(expr, found)
            known = self._operations[id(expr)] = (expr, found)
        return known[1]

    def _name(self, frame: Frame, expr: Name) -> Values:
        return self.names.lookup(frame, expr.id)

    def _const(self, frame: Frame, expr: Const) -> Values:
        return A_NUMBER if type(expr.value) in (int, float) else frozenset((Literal(expr.value),))

    def _attr(self, frame: Frame, expr: Attr) -> Values:
        cell = self._spots.get((frame, id(expr)))
        if cell is None:
            cell = self._spots[frame, id(expr)] = self.cells.cell(self._spot(frame, expr))
        return self.cells.see(cell)

    def _spot(self, frame: Frame, expr: Attr) -> Key:
        """The cell of an attribute: one for all places of a body, or of all methods of a class, that write the same."""
        self.remember(expr)
        root, names = chain(expr)
        if not root:
            return "dotted", frame, id(expr)
        place = self.names.place(frame, root)
        if isinstance(place, frozenset) and len(place) == 1:
            return "on", *place, names
        text = f"{root}.{'.'.join(names)}"
        self.expressions.setdefault(text, expr)
        is_global = isinstance(place, tuple) and place[0] == "global"
        return "dotted", Frame(frame.path, None, None) if is_global else frame, text

    def _on(self, value: Value, names: tuple[str, ...]) -> Values:
        """`self.a.b`, whatever method it stands in."""
        if len(names) == 1:
            return self.attributes.of(value, names[0]) or self.attributes.hinted(names[0])
        bases = self.cells.read(("on", value, names[:-1]))
        return self._member(bases, names[-1], ("on", value, names))

    def _dotted(self, frame: Frame, key: int | str) -> Values:
        expr = self.expressions[key]
        if not isinstance(expr, Attr):
            return NOTHING
        bases = self.evaluate(frame, expr.value)
        return self._member(bases, expr.name, ("dotted", frame, key))

    def _member(self, bases: Values, name: str, cell: Key) -> Values:
        """An attribute of these values; where nothing is known of it, what it is taken for."""
        found = self.attributes.of_all(bases, name) if bases else self.attributes.hinted(name)
        if found:
            return found
        self.blanks.add(cell)
        return self.attributes.of_all(self.guesses.get(cell, NOTHING), name)

    def is_guess(self, frame: Frame, expr: Attr) -> bool:
        """Whether an attribute is known by its name only."""
        return bool(self.guesses) and self._spot(frame, expr) in self.guesses

    def _call(self, frame: Frame, expr: Call) -> Values:
        return self.cells.read(("called", frame, self.remember(expr)))

    def _called(self, frame: Frame, key: int) -> Values:
        expr = self.expressions[key]
        return self.calls.result(frame, expr) if isinstance(expr, Call) else NOTHING

    def _subscript(self, frame: Frame, expr: Subscript) -> Values:
        key = expr.key.value if isinstance(expr.key, Const) else None
        return union(self.item(value, key) for value in self.evaluate(frame, expr.value))

    def item(self, value: Value, key: object) -> Values:
        """`value[key]`; `key` is None where it is not a constant."""
        if isinstance(value, Row) and isinstance(key, int) and -len(value.items) <= key < len(value.items):
            return value.items[key]
        if isinstance(value, DictValue) and isinstance(key, str):
            return self.entry(value, key)
        if isinstance(value, (FunctionValue, ClassValue)):
            return frozenset((value,))
        if isinstance(value, Instance):
            method = self.classes.method(value.ref, "__getitem__")
            return NOTHING if method is None else self.cells.read(("returns", Frame(method.path, method, value.ref)))
        return self.elements(value)

    def elements(self, value: Value) -> Values:
        """What iterating over (or subscripting) a collection may give."""
        if isinstance(value, Bag):
            return value.values
        if isinstance(value, Row):
            return union(value.items)
        if isinstance(value, DictValue):
            return union(self.entries(value).values())
        if isinstance(value, (External, Leaf)):
            return frozenset((ANYTHING,))
        if isinstance(value, Instance):
            method = self.classes.method(value.ref, "__iter__")
            given = NOTHING if method is None else self.cells.read(("returns", Frame(method.path, method, value.ref)))
            return union(self.elements(inner) for inner in given if not isinstance(inner, Instance))
        return NOTHING

    def entries(self, table: DictValue) -> dict[str, Values]:
        """The values of a dict by constant key; those of other keys under numbered names."""
        if table in self._open_tables:
            return {}
        self._open_tables.add(table)
        try:
            return self._entries(table)
        finally:
            self._open_tables.discard(table)

    def _entries(self, table: DictValue) -> dict[str, Values]:
        expr = self.expressions[table.key]
        found: dict[str, Values] = {}
        if isinstance(expr, Mapping):
            for place, (key, value) in enumerate(zip(expr.keys, expr.values, strict=False)):
                if key is None:
                    for inner in self.evaluate(table.frame, value):
                        found.update(self.entries(inner) if isinstance(inner, DictValue) else {})
                else:
                    name = key.value if isinstance(key, Const) and isinstance(key.value, str) else f"#{place}"
                    found[name] = self.evaluate(table.frame, value)
        elif isinstance(expr, Call):
            found.update({keyword.name: self.evaluate(table.frame, keyword.value) for keyword in expr.keywords})
        return found

    def entry(self, table: DictValue, key: str) -> Values:
        """What the dict holds under a constant key; if it has no such key, under those that are no constants."""
        found = self.entries(table)
        if key in found:
            return found[key]
        return union(values for name, values in found.items() if name.startswith("#"))

    def _display(self, frame: Frame, expr: Display) -> Values:
        items = tuple(self.evaluate(frame, item) for item in expr.items)
        if expr.kind == "tuple" and not any(isinstance(item, Starred) for item in expr.items):
            return frozenset((Row(tuple(map(shallow, items))),))
        return bag(union(items))

    def _table(self, frame: Frame, expr: Mapping) -> Values:
        return frozenset((DictValue(self.remember(expr), frame),))

    def _lambda(self, frame: Frame, expr: Lambda) -> Values:
        return frozenset((LambdaValue(self.remember(expr), frame),))

    def _logical(self, frame: Frame, expr: Logical) -> Values:
        return self.evaluate(frame, expr.left) | self.evaluate(frame, expr.right)

    def _conditional(self, frame: Frame, expr: Conditional) -> Values:
        return self.evaluate(frame, expr.body) | self.evaluate(frame, expr.orelse)

    def _inner(self, frame: Frame, expr: Await | Walrus) -> Values:
        return self.evaluate(frame, expr.value)

    def _starred(self, frame: Frame, expr: Starred) -> Values:
        return union(self.elements(value) for value in self.evaluate(frame, expr.value))

    def _binary(self, frame: Frame, expr: Binary) -> Values:
        both = self.evaluate(frame, expr.left) | self.evaluate(frame, expr.right)
        return frozenset(value for value in both if isinstance(value, (External, Bag)))

    def _unary(self, frame: Frame, expr: Unary) -> Values:
        return frozenset(value for value in self.evaluate(frame, expr.value) if isinstance(value, External))

    def _comprehension(self, frame: Frame, expr: Comprehension) -> Values:
        return bag(self.evaluate(frame, expr.element))

    def _compare(self, frame: Frame, expr: Compare) -> Values:
        return frozenset((ANYTHING,))

    def _fstring(self, frame: Frame, expr: FString) -> Values:
        return frozenset((ANYTHING,))

    def parent(self, frame: Frame) -> Frame | None:
        """The frame of the function around a nested one; None at module level."""
        return self.names.parent(frame)

    def _compute(self, key: Key) -> Values:
        return self.kinds[key[0]](*key[1:])

    def scope_of(self, frame: Frame) -> Scope | None:
        """What the body of the frame binds; None for a module that cannot be parsed."""
        if frame.function is not None:
            return self.library.scope(frame.function)
        unit = self.library.unit(frame.path)
        return None if unit is None else unit.scope(0)


MAKERS: dict[type, Any] = {
    Name: Evaluator._name,
    Const: Evaluator._const,
    Attr: Evaluator._attr,
    Call: Evaluator._call,
    Subscript: Evaluator._subscript,
    Display: Evaluator._display,
    Mapping: Evaluator._table,
    Lambda: Evaluator._lambda,
    Logical: Evaluator._logical,
    Conditional: Evaluator._conditional,
    Await: Evaluator._inner,
    Walrus: Evaluator._inner,
    Starred: Evaluator._starred,
    Binary: Evaluator._binary,
    Unary: Evaluator._unary,
    Comprehension: Evaluator._comprehension,
    FString: Evaluator._fstring,
    Compare: Evaluator._compare,
}
