"""What `value.name` may be: methods, properties, stored attributes, members of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from timing_audit.model.pack import matches_qualname
from timing_audit.model.program import (
    NOTHING, Bag, ClassRef, ClassValue, External, Frame, FunctionRef, FunctionValue, Instance, Leaf, Literal,
    ModuleValue, SetFrom, SuperValue, Value, Values,
)  # fmt: skip
from timing_audit.model.syntax import Attr, Call, Const, Expr, Function, Name
from timing_audit.program.classes import is_property
from timing_audit.program.library import Unit, has_decorator
from timing_audit.program.cells import HINTED, WRITTEN
from timing_audit.program.outside import ANYTHING
from timing_audit.program.scopes import Definition, nodes

if TYPE_CHECKING:
    from timing_audit.program.evaluate import Evaluator


def informative(values: Values) -> bool:
    """Whether anything but constants and what outside code gives is known."""
    return any(not isinstance(value, Literal) and value != ANYTHING for value in values)


class Attributes:
    """Looks names up on values; answers the cells of attributes."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._made: dict[ClassRef, set[ClassRef]] = {}
        self._methods: dict[tuple[ClassRef, str], Values] = {}
        self._own: dict[tuple[ClassRef, str], list[tuple[Frame, Definition]]] = {}
        self._stored: dict[tuple[ClassRef, str], tuple[list[tuple[Frame, Definition]], bool]] = {}
        self._holders: dict[str, list[Unit]] = {}
        self._foreign: dict[str, tuple[int, list[tuple[Frame, Expr, Definition]]]] = {}
        self.hints: dict[str, tuple[str, ...]] = {}
        self._hinted: dict[str, tuple[list[Unit], Values]] = {}
        self._delegating: set[tuple[ClassRef, str]] = set()

    def of_all(self, values: Iterable[Value], name: str) -> Values:
        """What `name` may be on any of the values."""
        return NOTHING.union(*(self.of(value, name) for value in values))

    def of(self, value: Value, name: str) -> Values:
        """What `name` may be on one value."""
        if isinstance(value, Instance):
            return self._instance(value, name)
        if isinstance(value, (External, Leaf)):
            return frozenset((self._evaluator.outside.attribute(value, name),))
        if isinstance(value, ModuleValue):
            return self._evaluator.names.member(value.name, name)
        if isinstance(value, ClassValue):
            return self._class(value.ref, name)
        if isinstance(value, SuperValue):
            return self._super(value, name)
        if isinstance(value, Literal) and isinstance(value.value, str):
            return frozenset((ANYTHING,))
        return NOTHING

    # Objects.

    def _instance(self, value: Instance, name: str) -> Values:
        found = [self._exactly(ref, name) for ref in self.possible(value)]
        return NOTHING.union(*found)

    def possible(self, value: Instance) -> list[ClassRef]:
        """The classes that an object may have: of a declared type, the subclasses that are made somewhere."""
        if value.exact:
            return [value.ref]
        made = [v.ref for v in self._evaluator.cells.read(("made", value.ref)) if isinstance(v, Instance)]
        return sorted({value.ref, *made})

    def _exactly(self, ref: ClassRef, name: str) -> Values:
        known = self._methods.get((ref, name))
        if known is not None:
            return known
        method = self._evaluator.classes.method(ref, name)
        if method is not None:
            return self._method(method, ref, name)
        found = self._evaluator.cells.read(("attr", ref, name))
        if found or not self._evaluator.cells.trusts(WRITTEN):
            return found
        return self._delegated(ref, name) or self._outside(ref, name)

    def _method(self, method: FunctionRef, receiver: ClassRef, name: str = "") -> Values:
        function = self._evaluator.library.function(method)
        if is_property(function):
            return self._evaluator.cells.read(("returns", Frame(method.path, method, receiver)))
        bound = None if has_decorator(function, "staticmethod") else receiver
        found: Values = frozenset((FunctionValue(method, bound, None),))
        if name:
            self._methods[receiver, name] = found
        return found

    def _outside(self, ref: ClassRef, name: str) -> Values:
        """An attribute that a base outside the target must have."""
        return frozenset(External(f"{base}().{name}") for base in self._evaluator.classes.providers(ref)[:1])

    def _delegated(self, ref: ClassRef, name: str) -> Values:
        """`__getattr__` that answers `getattr(self._inner, name)`."""
        method = self._evaluator.classes.method(ref, "__getattr__")
        if method is None or name.startswith("__") or (ref, name) in self._delegating:
            return NOTHING
        frame, asked = Frame(method.path, method, ref), self._evaluator.library.function(method).params[-1].name
        self._delegating.add((ref, name))
        try:
            return NOTHING.union(
                *(
                    self.of_all(self._evaluator.evaluate(frame, call.args[0]), name)
                    for call in nodes(self._evaluator.library.body(method))
                    if isinstance(call, Call) and call.func == Name("getattr") and call.args[1:] == (Name(asked),)
                )
            )
        finally:
            self._delegating.discard((ref, name))

    # Classes.

    def _class(self, ref: ClassRef, name: str) -> Values:
        classes = self._evaluator.classes
        method = classes.method(ref, name)
        if method is not None:
            function = self._evaluator.library.function(method)
            if has_decorator(function, "classmethod"):
                return frozenset((FunctionValue(method, ref, None),))
            return frozenset((FunctionValue(method, None, None),))
        for cls in classes.order(ref):
            found = self._class_level(cls, ref, name)
            if found is not None:
                return found
        return frozenset(External(f"{base}.{name}") for base in classes.providers(ref)[:1])

    def _class_level(self, cls: ClassRef, ref: ClassRef, name: str) -> Values | None:
        unit = self._evaluator.library.unit(cls.path)
        definitions = () if unit is None else unit.class_scope(unit.classes[cls.qualname]).names.get(name, ())
        if not definitions:
            return None
        if self._evaluator.classes.is_enum(ref):
            return frozenset((Instance(ref, True),))
        return self._evaluator.names.defined(Frame(cls.path, None, None), definitions)

    def _super(self, value: SuperValue, name: str) -> Values:
        method = self._evaluator.classes.method(value.receiver, name, value.after)
        if method is not None:
            return self._method(method, value.receiver)
        return frozenset(
            External(f"{base}().{name}") for base in self._evaluator.classes.outside_bases(value.receiver)[:1]
        )

    # Cells.

    def note_made(self, ref: ClassRef) -> None:
        """An object of this class is made somewhere."""
        for base in self._evaluator.classes.order(ref):
            known = self._made.setdefault(base, set())
            if ref not in known:
                known.add(ref)
                self._evaluator.cells.poke(("made", base))

    def made(self, ref: ClassRef) -> Values:
        """The cell of the objects of this class and its subclasses that are made somewhere."""
        return frozenset(Instance(made, True) for made in self._made.get(ref, ()))

    def stored(self, ref: ClassRef, name: str) -> Values:
        """The cell of an attribute: what its class, its methods and others put there."""
        known = self._stored.get((ref, name))
        if known is None:
            known = self._stored[ref, name] = self._assigned(ref, name)
        definitions, assigned = known
        definition = self._evaluator.names.definition
        found = NOTHING.union(*[definition(frame, made) for frame, made in definitions])
        found |= self._constructed(ref, name)
        found |= self._from_outside(ref, name)
        if assigned and not informative(found):
            found |= self._written(ref, name)
        return found if informative(found) else found | self.hinted(name)

    def _assigned(self, ref: ClassRef, name: str) -> tuple[list[tuple[Frame, Definition]], bool]:
        """What the class and its methods put there, and whether that is more than annotations."""
        own = self._definitions(ref, name)
        if not self._evaluator.calls.is_field(ref, name) and not any(_makes(d) for _, d in own):
            return own, False
        return [(frame, definition._replace(annotation=None)) for frame, definition in own], True

    def _written(self, ref: ClassRef, name: str) -> Values:
        """What the annotations say, once it is clear that the assignments say nothing."""
        notes = [(frame, d.annotation) for frame, d in self._definitions(ref, name) if d.annotation is not None]
        if not notes or not self._evaluator.cells.trusts(WRITTEN):
            return NOTHING
        return NOTHING.union(*(self._evaluator.annotations.read(Frame(f.path, None, None), note) for f, note in notes))

    def want_again(self, unit: Unit) -> None:
        """A new module may hold assignments to attributes that were not found so far."""
        for name in unit.stored:
            self._holders.setdefault(name, []).append(unit)
            self._evaluator.cells.poke(("stores", name))

    def turns_true_once(self, ref: ClassRef, name: str) -> bool:
        """Whether the attribute is false from the constructor on and only ever set to true after it."""
        values = {
            (definition.expr.value if isinstance(definition.expr, Const) else None, _in_constructor(frame))
            for frame, definition in self._definitions(ref, name)
        }
        return (True, False) in values and values <= {(True, False), (False, True)}

    def hinted(self, name: str) -> Values:
        """What the packs say that an attribute or parameter of this name may hold, where nothing else is known."""
        if name not in self.hints or not self._evaluator.cells.trusts(HINTED):
            return NOTHING
        units, known = self._evaluator.library.units, self._hinted.get(name)
        if known is None or known[0] is not units:
            known = self._hinted[name] = (units, frozenset(self._named(self.hints[name], units)))
        return known[1]

    def _named(self, globs: tuple[str, ...], units: Iterable[Unit]) -> Iterator[Value]:
        """Objects of the classes that are called so."""
        for unit in units:
            for cls in unit.outline.classes:
                if matches_qualname(globs, cls.qualname):
                    yield Instance(ClassRef(unit.path, cls.qualname), False)

    def is_hint(self, expr: Expr, values: Values) -> bool:
        """Whether the values of a name or attribute are just what the packs say that it may hold."""
        name = expr.name if isinstance(expr, Attr) else expr.id if isinstance(expr, Name) else ""
        objects = {value for value in values if isinstance(value, Instance)}
        return name in self.hints and objects == self.hinted(name)

    def _definitions(self, ref: ClassRef, name: str) -> list[tuple[Frame, Definition]]:
        known = self._own.get((ref, name))
        if known is None:
            known = self._own[ref, name] = list(self._find_definitions(ref, name))
        return known

    def _find_definitions(self, ref: ClassRef, name: str) -> Iterator[tuple[Frame, Definition]]:
        for cls in self._evaluator.classes.order(ref):
            unit = self._evaluator.library.unit(cls.path)
            if unit is None:
                continue
            for definition in unit.class_scope(unit.classes[cls.qualname]).names.get(name, ()):
                yield Frame(cls.path, None, None), definition
            for line in self._mentioning(unit, cls, name):
                yield from self._own_stores(unit, cls, ref, line, name)

    def _mentioning(self, unit: Unit, cls: ClassRef, name: str) -> list[int]:
        owner = unit.classes[cls.qualname]
        return [line for line in unit.storing(name) if owner.line <= line <= owner.end_line]

    def _own_stores(
        self, unit: Unit, cls: ClassRef, ref: ClassRef, line: int, name: str
    ) -> Iterator[tuple[Frame, Definition]]:
        method = self._outermost(unit, cls, unit.functions[line])
        if method is None or not method.params or not self._evaluator.classes.live(ref, cls, method.name):
            return
        receiver, function = Name(method.params[0].name), unit.functions[line]
        frame = Frame(unit.path, FunctionRef(unit.path, function.qualname, line), ref)
        for store in unit.scope(line).stores:
            if store.name == name and store.receiver == receiver:
                yield frame, store.definition

    def _outermost(self, unit: Unit, cls: ClassRef, function: Function) -> Function | None:
        """The method of the class that holds this function, or is it."""
        name = function.qualname.removeprefix(f"{cls.qualname}.").partition(".")[0]
        around = unit.by_qualname.get(f"{cls.qualname}.{name}", ())
        return next((f for f in around if f.line <= function.line <= f.end_line), None)

    def _constructed(self, ref: ClassRef, name: str) -> Values:
        """A field of a dataclass, from the arguments of its constructor calls."""
        return self._evaluator.calls.field(ref, name)

    def _from_outside(self, ref: ClassRef, name: str) -> Values:
        """`other.name = value` in a parsed module, where `other` may be an object of the class."""
        found, order = NOTHING, self._evaluator.classes.order
        stores = self._evaluator.cells.read(("stores", name))
        for value in stores:
            if isinstance(value, SetFrom) and (
                value.owner == ref or value.owner in order(ref) or ref in order(value.owner)
            ):
                frame, _, definition = self._foreign[name][1][value.place]
                found |= self._evaluator.names.definition(frame, definition)
        return found

    def receivers(self, name: str) -> Values:
        """The cell of the classes whose objects have this attribute set from outside, and by which stores."""
        cells = self._evaluator.cells
        return NOTHING.union(*(cells.read(("store", name, place)) for place in range(len(self._foreign_stores(name)))))

    def receiver(self, name: str, place: int) -> Values:
        """The cell of one such store."""
        frame, receiver, _ = self._foreign_stores(name)[place]
        values = self._evaluator.evaluate(frame, receiver)
        return frozenset(SetFrom(value.ref, place) for value in values if isinstance(value, Instance))

    def _foreign_stores(self, name: str) -> list[tuple[Frame, Expr, Definition]]:
        """Every store to an attribute of this name through something else than `self`, in the modules read so far."""
        units, known = self._holders.get(name, ()), self._foreign.get(name)
        if known is None or known[0] != len(units):
            known = self._foreign[name] = (len(units), [s for unit in units for s in self._stores_in(unit, name)])
        return known[1]

    def _stores_in(self, unit: Unit, name: str) -> Iterator[tuple[Frame, Expr, Definition]]:
        for line in unit.storing(name):
            function = unit.functions[line]
            own = Name(function.params[0].name) if function.params and function.in_class else None
            for store in unit.scope(line).stores:
                if store.name == name and store.receiver != own:
                    ref = FunctionRef(unit.path, function.qualname, line)
                    yield self._evaluator.frame_of(FunctionValue(ref, None, None)), store.receiver, store.definition

    def entered(self, value: Value) -> Values:
        """What `with value as x` gives to x."""
        if isinstance(value, Bag):
            return value.values
        if isinstance(value, Instance):
            method = self._evaluator.classes.method(value.ref, "__enter__")
            if method is not None:
                return self._evaluator.cells.read(("returns", Frame(method.path, method, value.ref)))
        return frozenset((value,))


def _makes(definition: Definition) -> bool:
    """Whether an assignment gives its name something: more than a constant."""
    return definition.how != "info" and definition.expr is not None and not isinstance(definition.expr, Const)


def _in_constructor(frame: Frame) -> bool:
    return frame.function is None or frame.function.qualname.endswith(".__init__")
