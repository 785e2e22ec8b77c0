"""Whether a function only keeps time: what lies between a start and a stop call is its caller's work."""

from __future__ import annotations

from collections.abc import Callable

from timing_audit.model.program import ClassValue, External, Frame, FunctionValue
from timing_audit.model.syntax import Call
from timing_audit.timing.calls import Calls
from timing_audit.timing.facts import Facts
from timing_audit.timing.names import Names
from timing_audit.program.scopes import nodes
from timing_audit.timing.walk import holds_yield, terminal

DEEPEST = 5
MOST_CALLS = 8
BOOKKEEPING = frozenset((
    "abs", "add", "all", "any", "append", "appendleft", "clear", "critical", "current_device",
    "current_stream", "debug", "deque", "dict", "discard", "error", "exception", "extend", "float", "format",
    "get", "get_device_module", "getattr", "hasattr", "inc", "info", "insert", "int", "isEnabledFor",
    "is_available", "isinstance", "items", "keys", "labels", "len", "list", "log", "max", "mean", "min",
    "next", "observe", "pop", "popitem", "popleft", "print", "query", "range", "record", "remove", "round",
    "set", "setdefault", "sorted", "str", "sum", "super", "tuple", "update", "values", "warning", "zip",
))  # fmt: skip


class Purity:
    """Answers for functions whose facts are known."""

    def __init__(self, names: Names, calls: Calls, facts: Callable[[Frame], Facts | None]) -> None:
        self.names = names
        self.calls = calls
        self.facts = facts
        self._known: dict[Frame, bool] = {}

    def forget(self, frame: Frame) -> None:
        """Drops what was worked out while fewer names were known."""
        self._known.pop(frame, None)

    def keeps_time_only(self, frame: Frame, facts: Facts, depth: int = 0) -> bool:
        """Whether every call of the function is bookkeeping, down to a few levels."""
        if frame not in self._known:
            self._known[frame] = True
            unknown = [call for call in facts.others if terminal(call.func) not in BOOKKEEPING]
            self._known[frame] = (
                len(unknown) <= MOST_CALLS
                and self._generator_free(frame)
                and all(self._harmless(frame, call, depth) for call in unknown)
            )
        return self._known[frame]

    def _generator_free(self, frame: Frame) -> bool:
        return frame.function is not None and not holds_yield(self.names.body(frame.function))

    def _harmless(self, frame: Frame, call: Call, depth: int) -> bool:
        values = self.names.values(frame, call.func)
        return bool(values) and all(self._harmless_value(value, depth) for value in values)

    def _harmless_value(self, value: object, depth: int) -> bool:
        if isinstance(value, (External, ClassValue)):
            return True
        if not isinstance(value, FunctionValue) or depth >= DEEPEST:
            return False
        inner = self.names.frame_of(value)
        if not any(type(node) is Call for node in nodes(self.names.body(value.ref))):
            return True
        facts = self.facts(inner)
        return facts is not None and self.keeps_time_only(inner, facts, depth + 1)
