"""The modules of the target, parsed when somebody asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple, Protocol

from timing_audit.model.program import ClassRef, FunctionRef
from timing_audit.model.syntax import Attr, Block, Call, Class, Evaluate, Expr, Function, Name
from timing_audit.program.scopes import Scope, read_scope
from timing_audit.syntax.module import BrokenSource, Module, module_name


ATTRIBUTE = re.compile(rb"\.([A-Za-z_]\w*)")
# An attribute where something may be stored: assigned, annotated, grown, or a target among others.
STORED = re.compile(
    rb"\.([A-Za-z_]\w*)(?=[ \t]*(?:[-+*/|&]?=(?!=)|:[^=\n]*=(?!=)|\[[^\n]*\][ \t]*=(?!=)"
    rb"|\.(?:append|add|appendleft|extend|insert|update|setdefault|put|put_nowait)\("
    rb"|,[^\n]*=(?!=)|[)\],]*[ \t]*=(?!=)|,?[ \t]*\n[ \t]*\)[ \t]*=(?!=)|,[ \t]*$|[)\],][^\n]*=(?!=)))"
    rb"|\bas +[\w.]*\.([A-Za-z_]\w*)|\bfor +[\w., ]*\.([A-Za-z_]\w*)[\w., ]* +in\b",
    re.MULTILINE,
)
GLOBAL = re.compile(rb"\bglobal +([\w, ]+)")
# A name into which something may be put: an item is set, or a method adds one.
FILLED = re.compile(rb"\b([A-Za-z_]\w*)(?=\[|\.(?:append|add|update|setdefault|extend|insert)\()")


class Sources(Protocol):
    """The files of a target: POSIX paths from the import root, and their UTF-8 bytes."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths of all files."""

    def utf8(self, path: str) -> bytes:
        """The decoded text as UTF-8. Raises UnreadableError, whose text is the reason."""


class UnreadableError(Exception):
    """A file that cannot be read or decoded; the text is the reason."""


class Problem(NamedTuple):
    """A file that could not be read or parsed, and why."""

    file: str
    reason: str


class Unit:
    """One parsed module with lookup tables over its outline."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.outline = module.outline
        self.path = module.outline.path
        self.functions = {function.line: function for function in self.outline.functions}
        self.classes = {cls.qualname: cls for cls in self.outline.classes}
        self.by_qualname: dict[str, list[Function]] = {}
        for function in self.outline.functions:
            self.by_qualname.setdefault(function.qualname, []).append(function)
        self._scopes: dict[int, Scope] = {}

    def mentions(self, attribute: str) -> list[int]:
        """The lines of the functions in whose own bodies `.attribute` stands."""
        return self._attributes.get(attribute, [])

    def storing(self, attribute: str) -> list[int]:
        """The lines of the functions in whose own bodies something may be stored in `.attribute`."""
        return self.stored.get(attribute, [])

    @cached_property
    def stored(self) -> dict[str, list[int]]:
        """By attribute name, the lines of the functions in whose own bodies it may be set."""
        return self._index(STORED)

    @cached_property
    def _attributes(self) -> dict[str, list[int]]:
        return self._index(ATTRIBUTE)

    def rebinding(self, name: str) -> list[int]:
        """The lines of the functions whose own bodies may bind this name of the module by `global`, or put into it."""
        return self._rebound.get(name, [])

    @cached_property
    def _rebound(self) -> dict[str, list[int]]:
        found = self._index(FILLED)
        for names, lines in self._index(GLOBAL).items() if b"global " in self.module.source else ():
            for name in names.split(","):
                found[name.strip()] = sorted({*found.get(name.strip(), ()), *lines})
        return found

    @cached_property
    def _extents(self) -> list[tuple[tuple[int, int], int]]:
        """The functions in the order of their bodies, with the places of first and last byte."""
        return sorted((self.module.extent(line), line) for line in self.functions)

    def _index(self, pattern: re.Pattern[bytes]) -> dict[str, list[int]]:
        starts = self._extents
        found: dict[bytes, dict[int, None]] = {}
        open_: list[tuple[int, int]] = []
        place = 0
        for match in pattern.finditer(self.module.source):
            at = match.start()
            while place < len(starts) and starts[place][0][0] <= at:
                open_.append((starts[place][0][1], starts[place][1]))
                place += 1
            while open_ and open_[-1][0] <= at:
                open_.pop()
            if open_:
                found.setdefault(match[match.lastindex or 1], {})[open_[-1][1]] = None
        return {name.decode(): list(lines) for name, lines in found.items()}

    def scope(self, line: int) -> Scope:
        """What the function at this line binds; line 0 is the module itself."""
        scope = self._scopes.get(line)
        if scope is None:
            body = self.outline.body if not line else self.module.body(line)
            params = () if not line else self.functions[line].params
            scope = self._scopes[line] = read_scope(body, params, deep=line in self.module.binds_inside)
        return scope

    def class_scope(self, cls: Class) -> Scope:
        """What the body of the class binds."""
        scope = self._scopes.get(-cls.line)
        if scope is None:
            scope = self._scopes[-cls.line] = read_scope(cls.body, (), deep=cls.line in self.module.binds_inside)
        return scope

    @cached_property
    def opening(self) -> Block:
        """The calls among the module's statements, which importing it makes."""
        calls = (statement for statement in self.outline.body if isinstance(statement, Evaluate))
        return tuple(statement for statement in calls if isinstance(statement.value, Call))

    def held(self) -> Iterator[str]:
        """The names under which objects may hold something: attributes that are stored, and what classes declare."""
        yield from self.stored
        for cls in self.outline.classes:
            yield from self.class_scope(cls).names


class Library:
    """Parses on demand, once; remembers what could not be parsed."""

    def __init__(self, sources: Sources, leaves: Sequence[str]) -> None:
        self._sources = sources
        self._leaves = tuple(leaves)
        self._units: dict[str, Unit | None] = {}
        self._opened: set[str] = set()
        self._behind: dict[str, bool] = {}
        self._paths = {module_name(path): path for path in sources.paths}
        self._packages = {name[:end] for name in self._paths for end in range(len(name)) if name[end] == "."}
        self._listed: list[Unit] | None = None
        self.problems: list[Problem] = []
        self.on_unit: Callable[[Unit], None] = lambda unit: None

    @property
    def units(self) -> list[Unit]:
        """Every module parsed so far, in the order of their paths."""
        if self._listed is None:
            self._listed = [unit for _, unit in sorted(self._units.items()) if unit is not None]
        return self._listed

    def is_module(self, name: str) -> bool:
        """Whether the target has a module or package of this dotted name."""
        return name in self._paths or name in self._packages

    def path_of(self, name: str) -> str | None:
        """The file of a module; None where the target has no such module."""
        return self._paths.get(name)

    def is_leaf(self, name: str) -> bool:
        """Whether a module or package lies behind the hot path's boundary."""
        path = self._paths.get(name, name.replace(".", "/") + "/")
        return self.is_leaf_path(path)

    def is_leaf_path(self, path: str) -> bool:
        """Whether the file lies behind the boundary and is not read."""
        return path not in self._opened and self.is_behind(path)

    def is_behind(self, path: str) -> bool:
        """Whether the file lies behind the boundary, read or not."""
        answer = self._behind.get(path)
        if answer is None:
            answer = self._behind[path] = any(fnmatchcase(path, glob) for glob in self._leaves)
        return answer

    def leaf_paths(self) -> list[str]:
        """The files that lie behind the boundary, read or not."""
        return [path for path in self._sources.paths if self.is_behind(path)]

    def open(self, path: str) -> None:
        """From here on the file is read although it lies behind the boundary."""
        self._opened.add(path)

    def words(self, pattern: re.Pattern[bytes]) -> frozenset[bytes]:
        """What the pattern's group finds in the files before the boundary, parsed or not."""
        ahead = (path for path in self._sources.paths if not self.is_leaf_path(path))
        return frozenset(word for path in ahead for word in pattern.findall(self.source(path)))

    def source(self, path: str) -> bytes:
        """The text of a file, parsed or not; empty where it cannot be read."""
        try:
            return self._sources.utf8(path)
        except UnreadableError:
            return b""

    def unit(self, path: str) -> Unit | None:
        """The parsed module of a file; None where it cannot be parsed."""
        if path in self._units:
            return self._units[path]
        unit = self._units[path] = self._parse(path)
        self._listed = None
        if unit is not None:
            self.on_unit(unit)
        return unit

    def named(self, name: str) -> Unit | None:
        """The parsed module of a dotted name; None where there is none or it cannot be parsed."""
        path = self._paths.get(name)
        return None if path is None else self.unit(path)

    def _parse(self, path: str) -> Unit | None:
        try:
            return Unit(Module(path, self._sources.utf8(path)))
        except (BrokenSource, UnreadableError) as problem:
            self.problems.append(Problem(path, str(problem)))
            return None

    def function(self, ref: FunctionRef) -> Function:
        """The outline of a function."""
        return self._known(ref.path).functions[ref.line]

    def body(self, ref: FunctionRef) -> Block:
        """The statements of a function."""
        return self._known(ref.path).module.body(ref.line)

    def class_(self, ref: ClassRef) -> Class:
        """The outline of a class."""
        return self._known(ref.path).classes[ref.qualname]

    def scope(self, ref: FunctionRef) -> Scope:
        """What a function binds."""
        return self._known(ref.path).scope(ref.line)

    def _known(self, path: str) -> Unit:
        unit = self.unit(path)
        if unit is None:
            raise LookupError(f"{path} was referred to but cannot be parsed")
        return unit


def ref_of(unit: Unit, function: Function) -> FunctionRef:
    """The reference to a function of this module."""
    return FunctionRef(unit.path, function.qualname, function.line)


def decorator_name(expr: Expr) -> str:
    """The last name of a decorator, without its call: `functools.wraps(f)` -> `wraps`."""
    func = getattr(expr, "func", expr)
    if isinstance(func, Attr):
        return func.name
    return func.id if isinstance(func, Name) else ""


def has_decorator(function: Function, *names: str) -> bool:
    """Whether the last name of any decorator is one of these."""
    return any(decorator_name(decorator.value) in names for decorator in function.decorators)
