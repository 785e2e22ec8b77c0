"""Decorators that time the function below them."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.model.program import Frame
from timing_audit.model.syntax import Block, Call, Decorator, Function
from timing_audit.model.timing import Clock
from timing_audit.timing.labels import label_of
from timing_audit.timing.facts import Measure, one_per_clock
from timing_audit.timing.walk import holds_yield, terminal
from timing_audit.timing.wrappers import DECORATOR, Wrappers


class Decorated(NamedTuple):
    """One clock of a timing decorator; `covers` is false where the body runs after the timer has ended."""

    line: int
    column: int
    kind: str
    measure: Measure
    label: str
    covers: bool
    synced: tuple[bool, bool]


def decorated(wrappers: Wrappers, outer: Frame, function: Function, body: Block) -> list[Decorated]:
    """The timers among the decorators of a function; `outer` is the frame in which they are evaluated."""
    return [
        use._replace(covers=use.covers and not holds_yield(body))
        for decorator in function.decorators
        for use in _uses(wrappers, outer, decorator, function)
    ]


def _uses(wrappers: Wrappers, outer: Frame, decorator: Decorator, function: Function) -> list[Decorated]:
    expr = decorator.value
    call = expr if type(expr) is Call else None
    if terminal(call.func if call is not None else expr) not in wrappers.calls.needles.names:
        return []
    line, column = (call.line, call.column) if call is not None else (decorator.line, 1)
    label = label_of(call) if call is not None else ""
    role = wrappers.calls.of_values(wrappers.names.values(outer, call.func if call is not None else expr))
    if role is not None and role.rule is not None and role.rule.kind == "span":
        measure = Measure(role.rule.clock or Clock.TRACE, "", role.rule.id, (), ())
        return [Decorated(line, column, role.rule.site, measure, label, not function.is_async, (False, False))]
    wrapper = wrappers.wrapper(role.value) if role is not None and role.value is not None else None
    if role is None or role.value is None or wrapper is None or DECORATOR not in wrapper.forms:
        return []
    given = wrapper.measures if call is None else wrappers.measures(outer, call, role.value, wrapper)
    lasts = wrapper.is_async or not function.is_async
    return [
        Decorated(line, column, wrapper.kind, measure, wrapper.label or label, lasts, wrapper.synced)
        for measure in one_per_clock(given)
    ]
