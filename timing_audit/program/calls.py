"""What a call runs, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from timing_audit.model.program import (
    NOTHING, Bag, ClassRef, ClassValue, DictValue, External, Frame, FunctionRef, FunctionValue, Instance, LambdaValue,
    Leaf, Literal, PartialValue, Row, SuperValue, Value, Values,
)  # fmt: skip
from timing_audit.model.syntax import Attr, Call, Const, Expr, Lambda, Name
from timing_audit.program.cells import WRITTEN
from timing_audit.program.library import has_decorator

if TYPE_CHECKING:
    from timing_audit.program.evaluate import Evaluator


class Target(NamedTuple):
    """A body that a call runs; `how` says by what means it was found."""

    frame: Frame
    how: str


class Calls:
    """Finds what calls run and what they give; notes their arguments on the way."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._constructions: dict[ClassRef, dict[tuple[Frame, int], Call]] = {}
        self._field_names: dict[ClassRef, list[str]] = {}
        self._open: set[PartialValue] = set()
        self._targets: dict[tuple[Frame, int, FunctionValue], list[Target]] = {}
        self._merged: dict[tuple[int, int], Call] = {}

    def result(self, frame: Frame, call: Call) -> Values:
        """What the call gives."""
        special = self._special(frame, call)
        if special is not None:
            return special
        found: set[Value] = set()
        for value in self._evaluator.evaluate(frame, call.func):
            found |= self._given(frame, call, value)
        return frozenset(found)

    def bare(self, call: Call) -> Call:
        """The call without its arguments, always the same object."""
        return self._merged.setdefault((id(call), 0), call._replace(args=(), keywords=()))

    def targets(self, frame: Frame, call: Call) -> list[Target]:
        """The bodies in the target that the call may run, constructors and wrappers included."""
        found: list[Target] = []
        for value in self._evaluator.evaluate(frame, call.func):
            found += self.bodies(frame, call, value)
        return list(dict.fromkeys(found))

    # One callee.

    def _given(self, frame: Frame, call: Call, value: Value) -> Values:
        if isinstance(value, ClassValue):
            self._construct(frame, call, value.ref)
            return frozenset((Instance(value.ref, True),))
        if isinstance(value, (External, Leaf)):
            return self._outside(frame, call, value)
        if isinstance(value, LambdaValue):
            return self._apply(frame, call, value)
        return NOTHING.union(
            *(self._evaluator.cells.read(("returns", target.frame)) for target in self.bodies(frame, call, value))
        )

    def bodies(self, frame: Frame, call: Call, value: Value) -> list[Target]:
        """The bodies in the target that the call may run where its callee is `value`."""
        if isinstance(value, ClassValue):
            return self._construct(frame, call, value.ref)
        if isinstance(value, FunctionValue):
            return self._function(frame, call, value)
        if isinstance(value, Instance):
            return self._callable(frame, call, value)
        if isinstance(value, PartialValue):
            return self._partial(frame, call, value)
        if isinstance(value, LambdaValue):
            self._apply(frame, call, value)
        return []

    def _function(self, frame: Frame, call: Call, value: FunctionValue) -> list[Target]:
        key = (frame, id(call), value)
        known = self._targets.get(key)
        if known is not None:
            return known
        function = self._evaluator.library.function(value.ref)
        owned = function.in_class and not has_decorator(function, "staticmethod")
        if owned and value.receiver is None and not has_decorator(function, "classmethod"):
            return self._unbound(frame, call, value)
        found = self._bound(frame, call, value, int(owned), 0)
        if not function.decorators:
            self._targets[key] = found
        return found

    def _unbound(self, frame: Frame, call: Call, value: FunctionValue) -> list[Target]:
        """`Base.method(self, ...)`: runs on whatever its first argument is."""
        owner = ClassRef(value.ref.path, self._evaluator.library.function(value.ref).owner)
        receivers = {owner}
        if call.args:
            given = self._evaluator.evaluate(frame, call.args[0])
            receivers = {v.ref for v in given if isinstance(v, Instance)}
            if not receivers and self._evaluator.cells.trusts(WRITTEN):
                receivers = {owner}
        found: list[Target] = []
        for receiver in sorted(receivers):
            found += self._bound(frame, call, value._replace(receiver=receiver), 1, 1)
        return found

    def _bound(self, frame: Frame, call: Call, value: FunctionValue, skip: int, taken: int) -> list[Target]:
        callee, function = self._evaluator.frame_of(value), self._evaluator.library.function(value.ref)
        self._evaluator.bindings.bind(frame, call, callee, function, skip, taken=taken)
        found = [Target(callee, "call")]
        found.extend(
            Target(self._evaluator.frame_of(wrapper), "decorator")
            for wrapper in self.wrappers(value.ref)
            if isinstance(wrapper, FunctionValue)
        )
        return found

    def _callable(self, frame: Frame, call: Call, value: Instance) -> list[Target]:
        """An object that is called: `__call__`, or `forward` where the base is a torch module."""
        found: list[Target] = []
        for ref in self._evaluator.attributes.possible(value):
            for name in ("__call__", "forward"):
                method = self._evaluator.classes.method(ref, name)
                if method is not None:
                    found += self._bound(frame, call, FunctionValue(method, ref, None), 1, 0)
                    break
        return found

    def _partial(self, frame: Frame, call: Call, value: PartialValue) -> list[Target]:
        inner = self._evaluator.expressions[value.key]
        found: list[Target] = []
        if isinstance(inner, Call) and inner.args and value not in self._open:
            self._open.add(value)
            first = inner._replace(
                func=inner.args[0], args=(*inner.args[1:], *call.args), keywords=(*inner.keywords, *call.keywords)
            )
            key = (value.key, id(call))
            merged = self._merged.setdefault(key, first)
            for target in self._evaluator.evaluate(value.frame, inner.args[0]):
                found += self.bodies(value.frame, merged, target)
            self._open.discard(value)
        return found

    def _construct(self, frame: Frame, call: Call, ref: ClassRef) -> list[Target]:
        self._evaluator.attributes.note_made(ref)
        calls = self._constructions.setdefault(ref, {})
        if (frame, id(call)) not in calls:
            calls[frame, id(call)] = call
            self._evaluator.cells.poke(("fields", ref))
        found: list[Target] = []
        for name in ("__new__", "__init__", "__post_init__"):
            method = self._evaluator.classes.method(ref, name)
            if method is not None:
                found += self._bound(frame, call, FunctionValue(method, ref, None), 1, 0)
        return found

    def constructions(self, ref: ClassRef) -> Values:
        """A cell that grows whenever one more constructor call is known."""
        return frozenset((Literal(len(self._constructions.get(ref, {}))),))

    def is_field(self, ref: ClassRef, name: str) -> bool:
        """Whether constructor calls fill this attribute by its name or place."""
        return self._evaluator.classes.method(ref, "__init__") is None and name in self._fields(ref)

    def field(self, ref: ClassRef, name: str) -> Values:
        """What constructor calls put into a field of a class without `__init__`."""
        if not self.is_field(ref, name):
            return NOTHING
        fields = self._fields(ref)
        self._evaluator.cells.read(("fields", ref))
        found, place = NOTHING, fields.index(name)
        for (frame, _), call in list(self._constructions.get(ref, {}).items()):
            expr = _argument(call, name, place)
            found |= NOTHING if expr is None else self._evaluator.evaluate(frame, expr)
        return found

    def _fields(self, ref: ClassRef) -> list[str]:
        known = self._field_names.get(ref)
        if known is None:
            known = self._field_names[ref] = self._annotated(ref)
        return known

    def _annotated(self, ref: ClassRef) -> list[str]:
        fields: list[str] = []
        for cls in reversed(self._evaluator.classes.order(ref)):
            unit = self._evaluator.library.unit(cls.path)
            scope = None if unit is None else unit.class_scope(unit.classes[cls.qualname])
            for name, definitions in scope.names.items() if scope is not None else ():
                if any(definition.annotation is not None for definition in definitions) and name not in fields:
                    fields.append(name)
        return fields

    def wrappers(self, ref: FunctionRef) -> Values:
        """The functions of the target that decorators put around a function."""
        if not self._evaluator.library.function(ref).decorators:
            return NOTHING
        return self._evaluator.cells.read(("wrapped", ref))

    def wrapped(self, ref: FunctionRef) -> Values:
        """The cell of these functions."""
        return frozenset(self._decorated(ref))

    def _decorated(self, ref: FunctionRef) -> Iterator[Value]:
        evaluator, module = self._evaluator, Frame(ref.path, None, None)
        for decorator in evaluator.library.function(ref).decorators:
            for value in evaluator.evaluate(module, decorator.value):
                if isinstance(value, FunctionValue):
                    callee, function = evaluator.frame_of(value), evaluator.library.function(value.ref)
                    if function.params:
                        evaluator.bindings.give(
                            callee, function.params[0].name, frozenset((FunctionValue(ref, None, None),))
                        )
                    yield from evaluator.cells.read(("returns", callee))

    # Calls of things outside.

    def _outside(self, frame: Frame, call: Call, value: External | Leaf) -> Values:
        found: set[Value] = {self._evaluator.outside.call(value)}
        if len(call.args) == 1 and not call.keywords:
            passed = self._evaluator.evaluate(frame, call.args[0])
            found.update(v for v in passed if isinstance(v, (FunctionValue, PartialValue)))
        return frozenset(found)

    def _apply(self, frame: Frame, call: Call, value: LambdaValue) -> Values:
        expr = self._evaluator.expressions[value.key]
        if not isinstance(expr, Lambda):
            return NOTHING
        for param, arg in zip(expr.params, call.args, strict=False):
            self._evaluator.bindings.apply(value.frame, param.name, self._evaluator.evaluate(frame, arg))
        return self._evaluator.evaluate(value.frame, expr.body)

    def _special(self, frame: Frame, call: Call) -> Values | None:
        """Calls that the language or the standard library gives a meaning; None for all others."""
        name = self._plain_name(frame, call.func)
        maker = SPECIAL.get(name) if name else None
        if maker is not None:
            return maker(self, frame, call)
        if isinstance(call.func, Attr) and call.func.name in COLLECTION_METHODS:
            return self._of_collection(frame, call, call.func)
        return None

    def _plain_name(self, frame: Frame, func: Expr) -> str:
        if not isinstance(func, (Name, Attr)) or (func.id if isinstance(func, Name) else func.name) not in LAST_NAMES:
            return ""
        names = [v.name for v in self._evaluator.evaluate(frame, func) if isinstance(v, External)]
        return names[0] if len(names) == 1 else ""

    def _of_collection(self, frame: Frame, call: Call, func: Attr) -> Values | None:
        held = [v for v in self._evaluator.evaluate(frame, func.value) if isinstance(v, (Bag, Row, DictValue))]
        if not held:
            return None
        if func.name == "copy":
            return frozenset(held)
        inner = NOTHING.union(*(self._from(v, func.name, call) for v in held))
        if func.name in ("get", "pop", "setdefault") and len(call.args) > 1:
            inner |= self._evaluator.evaluate(frame, call.args[1])
        if func.name == "values":
            return frozenset((Bag(inner),))
        return frozenset((Bag(frozenset((Row((NOTHING, inner)),))),)) if func.name == "items" else inner

    def _from(self, value: Value, method: str, call: Call) -> Values:
        key = call.args[0].value if method in ("get", "pop") and call.args and isinstance(call.args[0], Const) else None
        return self._evaluator.item(value, key)

    def _super(self, frame: Frame, call: Call) -> Values:
        if frame.function is None or frame.receiver is None:
            return NOTHING
        inner: Frame | None = frame
        while inner is not None and inner.function is not None:
            function = self._evaluator.library.function(inner.function)
            if function.in_class:
                return frozenset((SuperValue(ClassRef(frame.path, function.owner), frame.receiver),))
            inner = self._evaluator.parent(inner)
        return NOTHING

    def _getattr(self, frame: Frame, call: Call) -> Values:
        if len(call.args) < 2:
            return NOTHING
        names = {v.value for v in self._evaluator.evaluate(frame, call.args[1]) if isinstance(v, Literal)}
        bases = self._evaluator.evaluate(frame, call.args[0])
        found = NOTHING.union(*(self._evaluator.attributes.of_all(bases, n) for n in names if isinstance(n, str)))
        return found | (self._evaluator.evaluate(frame, call.args[2]) if len(call.args) > 2 else NOTHING)

    def _type(self, frame: Frame, call: Call) -> Values:
        given = self._evaluator.evaluate(frame, call.args[0]) if call.args else NOTHING
        return frozenset(ClassValue(v.ref) for v in given if isinstance(v, Instance))

    def _make_partial(self, frame: Frame, call: Call) -> Values:
        return frozenset((PartialValue(self._evaluator.remember(call), frame),)) if call.args else NOTHING

    def _make_dict(self, frame: Frame, call: Call) -> Values:
        return frozenset((DictValue(self._evaluator.remember(call), frame),))

    def _collect(self, frame: Frame, call: Call) -> Values:
        if not call.args:
            return frozenset((Bag(NOTHING),))
        given = self._evaluator.evaluate(frame, call.args[0])
        return frozenset((Bag(NOTHING.union(*(self._evaluator.elements(v) for v in given))),))

    def _first(self, frame: Frame, call: Call) -> Values:
        return self._evaluator.evaluate(frame, call.args[0]) if call.args else NOTHING

    def _one(self, frame: Frame, call: Call) -> Values:
        return NOTHING.union(*(self._evaluator.elements(v) for v in self._first(frame, call)))

    def _cast(self, frame: Frame, call: Call) -> Values:
        if len(call.args) < 2:
            return NOTHING
        return self._evaluator.annotations.read(frame, call.args[0]) or self._evaluator.evaluate(frame, call.args[1])

    def _enumerate(self, frame: Frame, call: Call) -> Values:
        return frozenset((Bag(frozenset((Row((NOTHING, self._one(frame, call))),))),))

    def _zip(self, frame: Frame, call: Call) -> Values:
        rows = tuple(
            NOTHING.union(*(self._evaluator.elements(v) for v in self._evaluator.evaluate(frame, arg)))
            for arg in call.args
        )
        return frozenset((Bag(frozenset((Row(rows),))),))

    def _map(self, frame: Frame, call: Call) -> Values:
        inner = call._replace(func=call.args[0], args=()) if call.args else None
        key = (id(call), 1)
        return NOTHING if inner is None else frozenset((Bag(self.result(frame, self._merged.setdefault(key, inner))),))

    def _defaultdict(self, frame: Frame, call: Call) -> Values:
        found = NOTHING
        if call.args:
            made = call._replace(func=call.args[0], args=(), keywords=())
            found |= self.result(frame, self._merged.setdefault((id(call), 1), made))
        for arg in call.args[1:]:
            found |= NOTHING.union(*(self._evaluator.elements(v) for v in self._evaluator.evaluate(frame, arg)))
        return frozenset((Bag(found),))


def _argument(call: Call, name: str, place: int) -> Expr | None:
    for keyword in call.keywords:
        if keyword.name == name:
            return keyword.value
    return call.args[place] if place < len(call.args) else None


COLLECTION_METHODS = frozenset(
    ("get", "pop", "popleft", "popitem", "setdefault", "values", "items", "copy", "get_nowait", "pop_front")
)
SPECIAL: dict[str, Callable[[Calls, Frame, Call], Values]] = {
    "builtins.super": Calls._super,
    "builtins.getattr": Calls._getattr,
    "builtins.type": Calls._type,
    "functools.partial": Calls._make_partial,
    "builtins.dict": Calls._make_dict,
    **dict.fromkeys(
        ("builtins.list", "builtins.tuple", "builtins.set", "builtins.frozenset", "builtins.sorted",
         "collections.deque", "builtins.reversed", "builtins.iter", "itertools.chain", "builtins.filter"),
        Calls._collect,
    ),
    **dict.fromkeys(("copy.copy", "copy.deepcopy", "dataclasses.replace", "weakref.proxy"), Calls._first),
    **dict.fromkeys(("builtins.next", "builtins.min", "builtins.max"), Calls._one),
    "typing.cast": Calls._cast,
    "builtins.enumerate": Calls._enumerate,
    "builtins.zip": Calls._zip,
    "builtins.map": Calls._map,
    "collections.defaultdict": Calls._defaultdict,
}  # fmt: skip
LAST_NAMES = frozenset(name.rpartition(".")[2] for name in SPECIAL) | frozenset(("partial",))
