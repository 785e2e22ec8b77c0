"""Classes without values: where a name leads, the order of bases, which methods can run on a class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from timing_audit.model.program import ClassRef, FunctionRef
from timing_audit.model.syntax import Attr, Binding, Block, Call, Expr, Function, Name, Nested, Subscript
from timing_audit.program.library import Library, Unit, has_decorator, ref_of
from timing_audit.program.scopes import nodes


class Elsewhere(NamedTuple):
    """A name that leads out of the target, or behind the path's boundary (`leaf`)."""

    name: str
    leaf: bool


class Package(NamedTuple):
    """A module or package, by its dotted name."""

    name: str


Static = ClassRef | FunctionRef | Elsewhere | Package | None
EMPTY_HANDED = frozenset(("abc", "enum", "typing", "typing_extensions"))
"""Modules whose classes say what kind of class one is, and bring next to no methods that a caller names."""
ENUMS = frozenset(("enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag", "enum.StrEnum"))
STUB_DECORATORS = ("abstractmethod", "abstractproperty", "overload")
PROPERTIES = ("property", "cached_property", "abstractproperty", "functools.cached_property")
LONGEST_CHAIN = 12


class Classes:
    """Answers questions about the names and classes of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._orders: dict[ClassRef, tuple[ClassRef, ...]] = {}
        self._bases: dict[ClassRef, tuple[ClassRef | Elsewhere, ...]] = {}
        self._methods: dict[ClassRef, dict[str, Function]] = {}
        self._setters: dict[ClassRef, dict[str, Function]] = {}
        self._found: dict[tuple[ClassRef, str, ClassRef | None], FunctionRef | None] = {}
        self.property_names: set[str] = set()

    def lookup(self, unit: Unit, name: str, depth: int = 0) -> Static:
        """What a module-level name is, through imports and re-exports; assignments are not followed."""
        if depth > LONGEST_CHAIN:
            return None
        scope = unit.scope(0)
        for definition in reversed(scope.names.get(name, ())):
            if definition.nested is not None:
                return self._defined(unit, definition.nested)
            if definition.binding is not None:
                return self.imported(definition.binding, depth)
            if isinstance(definition.expr, (Name, Attr)):
                found = self.static(unit, definition.expr, depth + 1)
                if found is not None:
                    return found
        for module in scope.stars:
            star = None if self.library.is_leaf(module) else self.library.named(module)
            found = None if star is None else self.lookup(star, name, depth + 1)
            if found is not None:
                return found
        return None

    def imported(self, binding: Binding, depth: int = 0) -> Static:
        """What an import binds."""
        if not binding.attribute:
            known = self.library.is_module(binding.module)
            return Package(binding.module) if known else Elsewhere(binding.module, False)
        return self.member(binding.module, binding.attribute, depth)

    def member(self, module: str, name: str, depth: int = 0) -> Static:
        """`name` of the module or package `module`."""
        full = f"{module}.{name}"
        if not self.library.is_module(module):
            return Elsewhere(full, False)
        if self.library.is_leaf(module):
            return Package(full) if self.library.is_module(full) else Elsewhere(full, True)
        unit = self.library.named(module)
        found = None if unit is None else self.lookup(unit, name, depth + 1)
        if found is None and self.library.is_module(full):
            return Package(full)
        return found

    def static(self, unit: Unit, expr: Expr, depth: int = 0) -> Static:
        """A dotted name, read at module level."""
        if isinstance(expr, Name):
            return self.lookup(unit, expr.id, depth)
        if isinstance(expr, Subscript):
            return self.static(unit, expr.value, depth)
        if isinstance(expr, Attr):
            base = self.static(unit, expr.value, depth)
            if isinstance(base, Package):
                return self.member(base.name, expr.name, depth)
            if isinstance(base, Elsewhere):
                return Elsewhere(f"{base.name}.{expr.name}", base.leaf)
        return None

    def _defined(self, unit: Unit, nested: Nested) -> Static:
        if nested.is_class:
            return ClassRef(unit.path, nested.qualname) if nested.qualname in unit.classes else None
        functions = unit.by_qualname.get(nested.qualname)
        return ref_of(unit, functions[-1]) if functions else None

    def bases(self, ref: ClassRef) -> tuple[ClassRef | Elsewhere, ...]:
        """The direct bases; one that leads to no class is a nameless `Elsewhere`."""
        found = self._bases.get(ref)
        if found is None:
            cls, unit = self.library.class_(ref), self.library.unit(ref.path)
            statics = [self.static(unit, base) for base in cls.bases] if unit is not None else []
            found = tuple(
                base if isinstance(base, (ClassRef, Elsewhere)) else Elsewhere("", False)
                for base in statics
                if base != ref
            )
            self._bases[ref] = found
        return found

    def order(self, ref: ClassRef) -> tuple[ClassRef, ...]:
        """The method resolution order, of the classes in the target."""
        found = self._orders.get(ref)
        if found is None:
            self._orders[ref] = (ref,)
            parents = [base for base in self.bases(ref) if isinstance(base, ClassRef)]
            found = self._orders[ref] = (ref, *merge([list(self.order(parent)) for parent in parents] + [parents]))
        return found

    def outside_bases(self, ref: ClassRef) -> tuple[str, ...]:
        """The canonical names of the bases that lie outside."""
        return tuple(
            base.name
            for cls in self.order(ref)
            for base in self.bases(cls)
            if isinstance(base, Elsewhere) and base.name
        )

    def providers(self, ref: ClassRef) -> tuple[str, ...]:
        """The bases outside that may have attributes which the target does not show: not `abc.ABC` and its kin."""
        return tuple(name for name in self.outside_bases(ref) if name.partition(".")[0] not in EMPTY_HANDED)

    def is_enum(self, ref: ClassRef) -> bool:
        """Whether the class inherits from a standard enum."""
        return not ENUMS.isdisjoint(self.outside_bases(ref))

    def methods(self, ref: ClassRef) -> dict[str, Function]:
        """The methods that the class itself defines; of a property, its getter."""
        found = self._methods.get(ref)
        if found is None:
            found = self._methods[ref] = {}
            unit, cls = self.library.unit(ref.path), self.library.class_(ref)
            for qualname in cls.methods if unit is not None else ():
                for function in unit.by_qualname[qualname] if unit is not None else ():
                    if not cls.line <= function.line <= cls.end_line:
                        continue
                    if is_setter(function):
                        self._setters.setdefault(ref, {})[function.name] = function
                    else:
                        found[function.name] = function
        return found

    def setter(self, ref: ClassRef, name: str) -> FunctionRef | None:
        """The setter of a property."""
        for cls in self.order(ref):
            self.methods(cls)
            function = self._setters.get(cls, {}).get(name)
            if function is not None:
                return FunctionRef(cls.path, function.qualname, function.line)
        return None

    def note(self, unit: Unit) -> None:
        """Remembers which names are properties somewhere in the modules read so far."""
        self.property_names.update(function.name for function in unit.outline.functions if is_property(function))

    def method(self, ref: ClassRef, name: str, after: ClassRef | None = None) -> FunctionRef | None:
        """The method that a call on an object of this class runs; with `after`, what `super()` there runs."""
        key = (ref, name, after)
        if key not in self._found:
            self._found[key] = self._method(ref, name, after)
        return self._found[key]

    def _method(self, ref: ClassRef, name: str, after: ClassRef | None) -> FunctionRef | None:
        order = self.order(ref)
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for cls in order:
            function = self.methods(cls).get(name)
            if function is not None:
                return FunctionRef(cls.path, function.qualname, function.line)
        return None

    def own_calls(self, ref: ClassRef, name: str) -> Iterator[tuple[FunctionRef, Call]]:
        """The calls `self.name(...)` and `super().name(...)` in the methods that can run on an object of the class."""
        for cls in self.order(ref):
            unit, outline = self.library.unit(cls.path), self.library.class_(cls)
            for line in unit.mentions(name) if unit is not None else ():
                function = unit.functions[line] if unit is not None else None
                if unit is None or function is None or not outline.line <= line <= outline.end_line:
                    continue
                if not function.in_class or self.live(ref, cls, function.name):
                    caller = ref_of(unit, function)
                    yield from ((caller, call) for call in _calls_on_self(self.library.body(caller), name))

    def live(self, ref: ClassRef, owner: ClassRef, name: str) -> bool:
        """Whether `owner`'s method of this name runs on an object of `ref`: not hidden by one that does not chain."""
        for cls in self.order(ref):
            function = self.methods(cls).get(name)
            if cls == owner:
                return function is not None
            if function is not None and not self._chains(cls, function, owner):
                return False
        return False

    def _chains(self, cls: ClassRef, function: Function, owner: ClassRef) -> bool:
        body = self.library.body(FunctionRef(cls.path, function.qualname, function.line))
        simple = owner.qualname.rpartition(".")[2]
        for node in nodes(body):
            if isinstance(node, Call) and isinstance(node.func, Attr) and node.func.name == function.name:
                receiver = node.func.value
                if isinstance(receiver, Call) and receiver.func == Name("super"):
                    return True
                if isinstance(receiver, Name) and receiver.id == simple:
                    return True
        return False

    def subclasses(self, ref: ClassRef) -> list[ClassRef]:
        """The known classes that inherit from this one, at any depth."""
        found = []
        for unit in self.library.units:
            for cls in unit.outline.classes:
                other = ClassRef(unit.path, cls.qualname)
                if cls.bases and other != ref and ref in self.order(other):
                    found.append(other)
        return found


def _calls_on_self(body: Block, name: str) -> list[Call]:
    found = [node for node in nodes(body) if isinstance(node, Call) and isinstance(node.func, Attr)]
    return [c for c in found if isinstance(c.func, Attr) and c.func.name == name and _is_self(c.func.value)]


def _is_self(expr: object) -> bool:
    return expr == Name("self") or (isinstance(expr, Call) and expr.func == Name("super"))


def merge(orders: list[list[ClassRef]]) -> list[ClassRef]:
    """C3; where the hierarchy has no consistent order, the first class that is left."""
    found: list[ClassRef] = []
    orders = [order for order in orders if order]
    while orders:
        heads = [order[0] for order in orders]
        good = [head for head in heads if not any(head in order[1:] for order in orders)]
        chosen = good[0] if good else heads[0]
        found.append(chosen)
        orders = [rest for order in orders if (rest := [cls for cls in order if cls != chosen])]
    return found


def is_property(function: Function) -> bool:
    """Whether a decorator makes the function a property."""
    return has_decorator(function, *PROPERTIES)


def is_setter(function: Function) -> bool:
    """Whether the function is the setter or deleter of a property."""
    return has_decorator(function, "setter", "deleter")


def is_stub(function: Function) -> bool:
    """Whether a decorator says that the function is abstract or an overload."""
    return has_decorator(function, *STUB_DECORATORS)
