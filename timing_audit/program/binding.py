"""What was passed to whom: the values of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from timing_audit.model.program import (
    NOTHING, Bag, ClassRef, ClassValue, DictValue, Frame, FunctionRef, FunctionValue, Instance, Values,
)  # fmt: skip
from timing_audit.model.syntax import Call, Const, Expr, Function, Mapping, Param, Starred
from timing_audit.program.attributes import informative
from timing_audit.program.cells import WRITTEN
from timing_audit.program.library import has_decorator

if TYPE_CHECKING:
    from timing_audit.program.evaluate import Evaluator


class Source(NamedTuple):
    """An argument: `how` is `value`, `element` (of a starred argument) or `entry` (of `**mapping`)."""

    frame: Frame
    key: int
    how: str


class Bindings:
    """Remembers what was passed to whom; answers the cells of parameters."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._sources: dict[tuple[Frame, str], set[Source]] = {}
        self._given: dict[tuple[Frame, str], Values] = {}
        self._applied: dict[tuple[Frame, str], Values] = {}
        self._displays: dict[tuple[int, Frame], Mapping] = {}
        self._searched: set[Frame] = set()
        self._seen: set[tuple[Frame, Frame, int, int]] = set()

    def bind(self, caller: Frame, call: Call, callee: Frame, function: Function, skip: int, *, taken: int = 0) -> None:
        """Notes the arguments of a call.

        `skip` leading parameters are the receiver's; `taken` leading arguments are not parameters
        (the `self` of an unbound call).
        """
        mark = (caller, callee, id(call), skip)
        if mark in self._seen:
            return
        self._seen.add(mark)
        params = [param for param in function.params[skip:] if not param.kind]
        rest = next((param for param in function.params if param.kind == "*"), None)
        named = {param.name for param in params}
        free = self._bind_places(caller, call.args[taken:], callee, params, rest)
        for keyword in call.keywords:
            if keyword.name in named:
                self._add(callee, Param(keyword.name, None, None, ""), caller, keyword.value, "value")
            elif not keyword.name:
                for param in free:
                    self._add(callee, param, caller, keyword.value, "entry")
        table = next((param for param in function.params if param.kind == "**"), None)
        if table is not None:
            self._bind_table(caller, call, callee, table, named)

    def _bind_table(self, caller: Frame, call: Call, callee: Frame, table: Param, named: set[str]) -> None:
        """Notes the keyword arguments that `**mapping` takes, as the dict that it will be."""
        extra = [keyword for keyword in call.keywords if keyword.name and keyword.name not in named]
        if extra:
            names = tuple(Const(keyword.name) for keyword in extra)
            display = Mapping(names, tuple(keyword.value for keyword in extra))
            self._add(callee, table, caller, self._displays.setdefault((id(call), callee), display), "value")
        for keyword in call.keywords:
            if not keyword.name:
                self._add(callee, table, caller, keyword.value, "value")

    def _bind_places(
        self, caller: Frame, args: tuple[Expr, ...], callee: Frame, params: list[Param], rest: Param | None
    ) -> list[Param]:
        """Notes the arguments without a name; gives the parameters that are left for `**mapping`."""
        free = list(params)
        for arg in args:
            if isinstance(arg, Starred):
                for param in free:
                    self._add(callee, param, caller, arg.value, "element")
                free = []
            elif free:
                self._add(callee, free.pop(0), caller, arg, "value")
            elif rest is not None:
                self._add(callee, rest, caller, arg, "value")
        return free

    def give(self, callee: Frame, name: str, values: Values) -> None:
        """Notes values that no written argument stands for, such as what a decorator is applied to."""
        known = self._given.get((callee, name), NOTHING)
        if not values <= known:
            self._given[callee, name] = known | values
            self._evaluator.cells.poke(("param", callee, name))

    def apply(self, frame: Frame, name: str, values: Values) -> None:
        """Notes what a lambda in this body is called with."""
        known = self._applied.get((frame, name), NOTHING)
        if not values <= known:
            self._applied[frame, name] = known | values
            self._evaluator.cells.poke(("lambda", frame, name))

    def applied(self, frame: Frame, name: str) -> Values:
        """The cell of a lambda's parameter: what it has been called with."""
        return self._applied.get((frame, name), NOTHING)

    def _add(self, callee: Frame, param: Param, caller: Frame, expr: Expr, how: str) -> None:
        source = Source(caller, self._evaluator.remember(expr), how)
        sources = self._sources.setdefault((callee, param.name), set())
        if source not in sources:
            sources.add(source)
            self._evaluator.cells.poke(("param", callee, param.name))

    def passed(self, frame: Frame, name: str) -> Values:
        """The cell of a parameter: its receiver, what was passed, its default, else its annotation."""
        if frame.function is None:
            return NOTHING
        function = self._evaluator.library.function(frame.function)
        place = next(i for i, param in enumerate(function.params) if param.name == name)
        param = function.params[place]
        if place == 0 and function.in_class and not has_decorator(function, "staticmethod"):
            return self._receiver(frame, function, param)
        found = self._given.get((frame, name), NOTHING).union(*self._sourced(frame, name))
        if not informative(found):
            found |= self._unwalked(frame, frame.function, function, place)
        if param.kind == "**":
            return frozenset(v for v in found if isinstance(v, DictValue)) or frozenset((Bag(NOTHING),))
        if param.kind:
            return frozenset((Bag(found),)) if found else NOTHING
        module = Frame(frame.path, None, None)
        if param.default is not None:
            found |= self._evaluator.evaluate(module, param.default)
        vague = param.annotation is not None and not any(type(value) in DECISIVE for value in found)
        if vague and self._evaluator.cells.trusts(WRITTEN):
            found |= self._evaluator.annotations.read(module, param.annotation)
        return found if informative(found) else found | self._evaluator.attributes.hinted(name)

    def _unwalked(self, frame: Frame, ref: FunctionRef, function: Function, place: int) -> Values:
        """What calls pass that stand on no path: those of the class's own methods, and decorators."""
        param = function.params[place].name
        if frame.receiver is not None and frame not in self._searched:
            self._searched.add(frame)
            for caller, call in self._evaluator.classes.own_calls(frame.receiver, function.name):
                self._evaluator.calls.targets(Frame(caller.path, caller, frame.receiver), call)
        decorates = place == int(function.in_class)
        given = self._evaluator.registrations.passed(frame, ref, param) if decorates else NOTHING
        return given.union(*self._sourced(frame, param))

    def _sourced(self, frame: Frame, name: str) -> list[Values]:
        return [self._argument(source, name) for source in tuple(self._sources.get((frame, name), ()))]

    def _argument(self, source: Source, name: str) -> Values:
        values = self._evaluator.evaluate(source.frame, self._evaluator.expressions[source.key])
        if source.how == "element":
            return NOTHING.union(*(self._evaluator.elements(value) for value in values))
        if source.how == "entry":
            tables = [value for value in values if isinstance(value, DictValue)]
            return NOTHING.union(*(self._evaluator.entries(table).get(name, NOTHING) for table in tables))
        return values

    def receiver(self, frame: Frame, name: str) -> Values:
        """The values of the first parameter of a method, where nothing but its class decides them; else none."""
        if frame.function is None:
            return NOTHING
        function = self._evaluator.library.function(frame.function)
        if not function.in_class or function.params[0].name != name or has_decorator(function, "staticmethod"):
            return NOTHING
        mixed_in = function.params[0].annotation is not None and frame.receiver in (
            None,
            ClassRef(frame.path, function.owner),
        )
        return NOTHING if mixed_in else self._receiver(frame, function, function.params[0])

    def _receiver(self, frame: Frame, function: Function, param: Param) -> Values:
        owner = ClassRef(frame.path, function.owner)
        receiver = frame.receiver or owner
        if has_decorator(function, "classmethod") or function.name == "__new__":
            return frozenset((ClassValue(receiver),))
        if receiver == owner and param.annotation is not None:
            noted = self._evaluator.annotations.read(Frame(frame.path, None, None), param.annotation)
            found = frozenset(value for value in noted if isinstance(value, Instance))
            if found:
                return found
        return frozenset((Instance(receiver, True),))


DECISIVE = (Instance, FunctionValue, ClassValue)
