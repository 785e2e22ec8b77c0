"""What a call is, in the words of the vocabulary and of the inferred wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from timing_audit.model.pack import CallRule, SetterRule
from timing_audit.model.program import (
    ClassValue, External, Frame, FunctionValue, Instance, Leaf, PartialValue, Value,
)  # fmt: skip
from timing_audit.model.syntax import Attr, Call, Expr, Nested, Return, Subscript, With
from timing_audit.timing.facts import Inferred, Measure, Read, Summary
from timing_audit.timing.names import Names, Vocabulary
from timing_audit.timing.needles import Needles
from timing_audit.timing.walk import terminal

ENTERING = frozenset(("enter_context", "enter_async_context"))
HEARD = (Call, With, Return, Nested)
"""The nodes of a body by which it may have to do with time."""
Heard = Call | With | Return | Nested


class Role(NamedTuple):
    """What a call resolves to; `value` is the function or class of the target behind it."""

    rule: CallRule | None
    setter: SetterRule | None
    value: Value | None
    canonical: str


class Inference(Protocol):
    """What `Wrappers` answers about functions and classes of the target."""

    def wrapper(self, value: Value) -> Inferred | None:
        """What the value wraps its caller's code in."""

    def measures(self, frame: Frame, call: Call, value: Value, wrapper: Inferred) -> tuple[Measure, ...]:
        """The clocks of a wrapper in this call, its gates in the caller's words, the impossible ones left out."""

    def clock(self, value: Value) -> Read | None:
        """The instant that a function gives back which only reads a clock."""

    def summary(self, value: Value) -> Summary:
        """What calling the value does to measurements around the call."""

    def effects(self, frame: Frame, call: Call, value: Value, receiver: Expr | None) -> Summary:
        """The summary with its places in the caller's words."""

    def event_timing(self, frame: Frame, expr: Expr) -> bool | None:
        """Whether the event kept in an attribute was made to time; None where nothing tells."""


class Calls:
    """Roles of calls, remembered; a name that cannot matter is not resolved."""

    def __init__(self, names: Names, vocabulary: Vocabulary, needles: Needles) -> None:
        self.names = names
        self.vocabulary = vocabulary
        self.needles = needles
        self.contexts: dict[str, set[Value]] = {}
        self._roles: dict[tuple[Frame, int, int, int], Role | None] = {}

    def role(self, frame: Frame, call: Call, *, context: bool = False, hands_time: bool = False) -> Role | None:
        """The role of a call; `context` for one that is entered, `hands_time` for one that is given a clock's time."""
        name = terminal(call.func) or _made_by(call.func)
        if name not in self.needles.names and not hands_time:
            return None
        key = (frame, call.line, call.column, call.end_line if terminal(call.func) else -call.end_line)
        if (role := self._roles.get(key, self)) is not self:
            return role  # type: ignore[return-value]
        found = self.of_values(self.names.values(frame, call.func))
        if found is None and context and type(call.func) is Attr:
            found = self._by_name(name)
        self._roles[key] = found
        return found

    def _by_name(self, name: str) -> Role | None:
        """The only method of this name that gives a timing context, for a receiver that nothing tells of."""
        known = self.contexts.get(name, set())
        return Role(None, None, next(iter(known)), "") if len(known) == 1 else None

    def speak(self, frame: Frame, found: Sequence[Heard]) -> bool:
        """Whether any of these nodes of a body may have to do with time; a body without one is never followed."""
        return any(self._speaks(frame, node) for node in found)

    def _speaks(self, frame: Frame, node: Heard) -> bool:
        if type(node) is Call:
            return self._may_matter(frame, node)
        if type(node) is With:
            return any(self.may_be_kept(item.context) for item in node.items)
        if type(node) is Return:
            return type(node.value) is Attr and self.may_be_kept(node.value)
        return type(node) is Nested

    def _may_matter(self, frame: Frame, call: Call) -> bool:
        """Whether the call may have a role, or enters what may be a timer."""
        name = terminal(call.func) or _made_by(call.func)
        if name in ENTERING and call.args and self.may_be_kept(call.args[0]):
            return True
        if name not in self.needles.names and not self.hands_time(call):
            return False
        return name in self.contexts or self.of_values(self.names.values(frame, call.func)) is not None

    def hands_time(self, call: Call) -> bool:
        """Whether an argument is a call of something named like a clock: then the callee may be a start or stop."""
        return any(type(arg) is Call and terminal(arg.func) in self.needles.clocks for arg in call.args)

    def forget(self, frame: Frame) -> None:
        """Drops the roles that a frame's calls had while fewer names were known."""
        for key in [key for key in self._roles if key[0] == frame]:
            del self._roles[key]

    def of_values(self, values: frozenset[Value]) -> Role | None:
        """The first rule that names one of the values, else a definition of the target."""
        ordered = sorted(values, key=str)
        for value in ordered:
            if isinstance(value, (External, Leaf)):
                rule = self.vocabulary.match_call(value.name)
                if rule is not None:
                    return Role(rule, None, None, value.name)
        for value in ordered:
            if isinstance(value, FunctionValue) and (setter := self.setter(value)) is not None:
                return Role(None, setter, value, value.ref.qualname)
        for value in ordered:
            if isinstance(value, (FunctionValue, ClassValue, PartialValue)):
                return Role(None, None, value, "")
        return None

    def setter(self, value: FunctionValue) -> SetterRule | None:
        """The setter rule that names the function."""
        for rule in self.vocabulary.setter_rules:
            if rule.matches(value.ref.path, value.ref.qualname):
                return rule
        return None

    def may_be_kept(self, expr: Expr) -> bool:
        """Whether a name or attribute may hold a context, by its name."""
        return terminal(expr) in self.needles.names

    def of_object(self, frame: Frame, expr: Expr) -> Role | None:
        """The role of the call that made an object kept in a name or attribute."""
        for value in sorted(self.names.values(frame, expr), key=str):
            if isinstance(value, External) and value.name.endswith("()"):
                rule = self.vocabulary.match_call(value.name[:-2])
                if rule is not None:
                    return Role(rule, None, None, value.name[:-2])
            if isinstance(value, Instance):
                return Role(None, None, value, value.ref.qualname)
        return None

    def method_of_event(self, name: str, kind: str) -> bool:
        """Whether the vocabulary knows a method of this name for events."""
        return name in self._event_methods[kind]

    @cached_property
    def _event_methods(self) -> dict[str, frozenset[str]]:
        kinds = ("event-record", "event-elapsed", "event-query", "event-synchronize")
        return {
            kind: frozenset(
                name.rpartition(".")[2]
                for rule in self.vocabulary.call_rules
                if rule.kind == kind and rule.event_position is None
                for name in rule.calls
            )
            for kind in kinds
        }


def _made_by(func: Expr) -> str:
    """The name of what makes a callee: of `make("x")(f)`, `make`."""
    if isinstance(func, Call):
        return terminal(func.func)
    return terminal(func.value) if isinstance(func, Subscript) else ""
