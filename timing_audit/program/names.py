"""Where names lead: to bindings of a body, of the functions around it, of modules; and what those give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from timing_audit.model.program import (
    NOTHING, ClassRef, ClassValue, External, Frame, FunctionRef, FunctionValue, Instance, Leaf, ModuleValue, Values,
)  # fmt: skip
from timing_audit.model.syntax import Expr
from timing_audit.program.attributes import informative
from timing_audit.program.cells import WRITTEN, Key
from timing_audit.program.classes import Elsewhere, Package, Static
from timing_audit.program.library import Unit
from timing_audit.program.scopes import FILLING, Definition
from timing_audit.program.values import bag, union

if TYPE_CHECKING:
    from timing_audit.program.evaluate import Evaluator


class Names:
    """Looks names up; answers the cells of names and of what functions return."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._places: dict[tuple[Frame, str], Key | Values] = {}

    def lookup(self, frame: Frame, name: str) -> Values:
        """A name as a body sees it: its own, of the functions around it, of the module, a builtin."""
        place = self.place(frame, name)
        return self._evaluator.cells.read(place) if isinstance(place, tuple) else place

    def place(self, frame: Frame, name: str) -> Key | Values:
        """The cell that holds a name's values, or the values themselves where they can be only these."""
        place = self._places.get((frame, name))
        if place is None:
            place = self._places[frame, name] = self._find_place(frame, name)
        return place

    def _find_place(self, frame: Frame, name: str) -> Key | Values:
        inner: Frame | None = frame
        while inner is not None and inner.function is not None:
            scope = self._evaluator.library.scope(inner.function)
            if name not in scope.globals:
                if name in scope.names:
                    return "local", inner, name
                if name in scope.given:
                    return self._evaluator.bindings.receiver(inner, name) or ("param", inner, name)
            inner = self.parent(inner)
        return "global", frame.path, name

    def parent(self, frame: Frame) -> Frame | None:
        """The frame of the function around a nested one; None at module level."""
        if frame.function is None:
            return None
        unit, owner = self._evaluator.library.unit(frame.path), self._evaluator.library.function(frame.function).owner
        while unit is not None and owner:
            around = [f for f in unit.by_qualname.get(owner, ()) if f.line <= frame.function.line <= f.end_line]
            if around:
                return Frame(frame.path, FunctionRef(frame.path, owner, around[0].line), frame.receiver)
            owner = unit.classes[owner].owner if owner in unit.classes else ""
        return None

    # Cells.

    def local(self, frame: Frame, name: str) -> Values:
        """The cell of a name that a function binds."""
        if frame.function is None:
            return NOTHING
        scope = self._evaluator.library.scope(frame.function)
        definitions = scope.names.get(name, ())
        found = self.defined(frame, definitions)
        if any(definition.how == "lambda" for definition in definitions):
            found |= self._evaluator.cells.read(("lambda", frame, name))
        if name in scope.given:
            found |= self._evaluator.cells.read(("param", frame, name))
        elif all(definition.how in FILLING for definition in definitions):
            found |= self._around(frame, name)
        return found

    def _around(self, frame: Frame, name: str) -> Values:
        """A name that the body only fills, as `names.append(x)` does, belongs to what is around it."""
        outer = self.parent(frame)
        return self._evaluator.cells.read(("global", frame.path, name)) if outer is None else self.lookup(outer, name)

    def of_module(self, path: str, name: str) -> Values:
        """The cell of a name of a module, else of a builtin."""
        unit = self._evaluator.library.unit(path)
        if unit is None:
            return NOTHING
        scope, frame = unit.scope(0), Frame(path, None, None)
        found = self.defined(frame, scope.names.get(name, ()))
        if not found and name not in scope.names:
            found = union(self.member(module, name) for module in scope.stars)
            found = found or frozenset((External(f"builtins.{name}"),))
        return found.union(*self._rebound(unit, name))

    def _rebound(self, unit: Unit, name: str) -> Iterator[Values]:
        """What functions of the module bind to one of its names by `global`, or put into it."""
        for line in unit.rebinding(name):
            scope = unit.scope(line)
            definitions = scope.names.get(name, ())
            stored = name not in scope.given and all(d.how in FILLING for d in definitions)
            if definitions and (name in scope.globals or stored):
                ref = FunctionRef(unit.path, unit.functions[line].qualname, line)
                yield self.defined(self._evaluator.frame_of(FunctionValue(ref, None, None)), definitions)

    # Bindings.

    def defined(self, frame: Frame, definitions: Iterable[Definition]) -> Values:
        """What all of these bindings give their name."""
        return union(self.definition(frame, definition) for definition in definitions)

    def definition(self, frame: Frame, definition: Definition) -> Values:
        """What one binding gives its name."""
        how, expr = definition.how, definition.expr
        if how == "import" and definition.binding is not None:
            return self.from_static(self._evaluator.classes.imported(definition.binding), definition)
        if how == "nested" and definition.nested is not None:
            return self._nested(frame, definition)
        if how == "lambda":
            return NOTHING  # bound through Bindings.give, read by _local
        found = NOTHING if expr is None else self._how(how, self._evaluator.evaluate(frame, expr))
        for place in definition.place:
            found = union(self._evaluator.item(value, place) for value in found)
        return found if definition.annotation is None else self._noted(frame, found, definition.annotation)

    def _noted(self, frame: Frame, found: Values, annotation: Expr) -> Values:
        """What is assigned to an annotated name: the annotation is believed where the two disagree."""
        noted = self._evaluator.annotations.read(frame, annotation)
        classes = {value.ref for value in noted if isinstance(value, Instance)}
        if not classes:
            return found if informative(found) or not self._evaluator.cells.trusts(WRITTEN) else found | noted
        order = self._evaluator.classes.order
        kept = frozenset(v for v in found if not isinstance(v, Instance) or not classes.isdisjoint(order(v.ref)))
        known = any(isinstance(v, Instance) for v in kept)
        return kept if known or not self._evaluator.cells.trusts(WRITTEN) else noted | kept

    def _how(self, how: str, found: Values) -> Values:
        if how == "element":
            return union(self._evaluator.elements(value) for value in found)
        if how == "enter":
            return union(self._evaluator.attributes.entered(value) for value in found)
        if how == "store":
            return bag(found)
        if how == "grow":
            return bag(union(self._evaluator.elements(value) for value in found))
        return found

    def from_static(self, found: Static, definition: Definition) -> Values:
        """The value of something that an import leads to; an assigned name is evaluated where it is assigned."""
        if found is None and definition.binding is not None:
            return self.member(definition.binding.module, definition.binding.attribute)
        if isinstance(found, Elsewhere):
            return frozenset((Leaf(found.name) if found.leaf else External(found.name),))
        if isinstance(found, Package):
            return frozenset((ModuleValue(found.name),))
        if isinstance(found, ClassRef):
            return frozenset((ClassValue(found),))
        if isinstance(found, FunctionRef):
            return frozenset((FunctionValue(found, None, None),))
        return NOTHING

    def member(self, module: str, name: str) -> Values:
        """`name` of a module of the target."""
        full = f"{module}.{name}"
        if self._evaluator.library.is_leaf(module) or self._evaluator.library.is_leaf(full):
            known = self._evaluator.library.is_module(full)
            return frozenset((ModuleValue(full) if known else Leaf(full),))
        path = self._evaluator.library.path_of(module)
        unit = None if path is None else self._evaluator.library.unit(path)
        if unit is not None and (name in unit.scope(0).names or unit.scope(0).stars):
            return self._evaluator.cells.read(("global", unit.path, name))
        if self._evaluator.library.is_module(full):
            return frozenset((ModuleValue(full),))
        return NOTHING if unit is not None else frozenset((External(full),))

    def _nested(self, frame: Frame, definition: Definition) -> Values:
        nested, unit = definition.nested, self._evaluator.library.unit(frame.path)
        if nested is None or unit is None:
            return NOTHING
        if nested.is_class:
            known = nested.qualname in unit.classes
            return frozenset((ClassValue(ClassRef(frame.path, nested.qualname)),)) if known else NOTHING
        functions = [f for f in unit.by_qualname.get(nested.qualname, ()) if nested.line <= f.line <= nested.end_line]
        return frozenset(
            FunctionValue(FunctionRef(frame.path, f.qualname, f.line), frame.receiver, None) for f in functions
        )

    def returns(self, frame: Frame) -> Values:
        """The cell of what a call of a function gives."""
        if frame.function is None:
            return NOTHING
        function, scope = (
            self._evaluator.library.function(frame.function),
            self._evaluator.library.scope(frame.function),
        )
        if scope.is_generator:
            found = bag(union(self._evaluator.evaluate(frame, expr) for expr in scope.yields))
        else:
            found = union(self._evaluator.evaluate(frame, expr) for expr in scope.returns)
        if function.returns is not None and not informative(found) and self._evaluator.cells.trusts(WRITTEN):
            noted = self._evaluator.annotations.read(Frame(frame.path, None, None), function.returns)
            found |= noted if not scope.is_generator else NOTHING
        return found
