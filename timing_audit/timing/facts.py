"""What one body does with clocks: the plain data that flows between the parts of the timing layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from timing_audit.model.program import FunctionRef
from timing_audit.model.syntax import Call, Const, Expr
from timing_audit.model.timing import Clock, Elapsed, Purpose
from timing_audit.timing.positions import Position


class Measure(NamedTuple):
    """One clock of a timer, down to its primitive; `gates` must all hold for it to time."""

    clock: Clock
    family: str
    rule: str
    hops: tuple[str, ...]
    gates: tuple[Expr, ...]


def one_per_clock(measures: Iterable[Measure]) -> tuple[Measure, ...]:
    """Of the measures on one clock, the one with the fewest conditions."""
    best: dict[Clock, Measure] = {}
    for measure in measures:
        known = best.get(measure.clock)
        if known is None or len(measure.gates) < len(known.gates):
            best[measure.clock] = measure
    return tuple(best.values())


class Read(NamedTuple):
    """A start or an end of a measurement: a clock read, a call that reads one, or (`source` is `place`
    or `param`) what an outliving place or a parameter may hold.

    `shifted` tells an instant to which something was added: a deadline. `constant` is the label where it
    is a string that the code spells out. `synced` tells that whatever reads the clock waits for the device first.
    """

    line: int
    column: int
    position: Position
    measure: Measure
    source: str = "read"
    place: Expr = Const(None)
    shifted: bool = False
    label: str = ""
    primitive: str = ""
    constant: str = ""
    synced: bool = False


class Event(NamedTuple):
    """A device event by the place of its creation, or by where it is kept; `timing` is None where unknown."""

    key: str
    timing: bool | None


class Use(NamedTuple):
    """A context that times what it encloses, where its expression stands."""

    line: int
    column: int
    measure: Measure
    label: str
    kind: str
    position: Position
    synced: tuple[bool, bool] = (False, False)
    primitive: str = ""
    constant: str = ""


class Val(NamedTuple):
    """What an expression may be, as far as time goes: a signed sum of instants, events, contexts."""

    plus: frozenset[Read] = frozenset()
    minus: frozenset[Read] = frozenset()
    events: frozenset[Event] = frozenset()
    uses: tuple[Use, ...] = ()
    duration: bool = False


NOTHING = Val()


def join(left: Val, right: Val) -> Val:
    """What may be either."""
    if left is right or right == NOTHING:
        return left
    if left == NOTHING:
        return right
    return Val(
        left.plus | right.plus, left.minus | right.minus, left.events | right.events,
        left.uses + tuple(use for use in right.uses if use not in left.uses), left.duration or right.duration,
    )  # fmt: skip


class Timed(NamedTuple):
    """A measurement in one body. `how` is `read`, `call`, `event`, `stack`, `span`, `enter` or `callable`.

    `items` are the later items of the same `with`; `read_line` is where a pair of events is read.
    """

    how: str
    start: Read
    end_line: int
    end_column: int
    end: Position
    measure: Measure
    label: str
    items: tuple[tuple[int, int], ...] = ()
    synced: tuple[bool, bool] = (False, False)
    read_line: int = 0


class Inferred(NamedTuple):
    """A wrapper: `forms` are `context`, `decorator`, `callable`; `label` is one that it fixes itself.

    `synced` says whether a device synchronisation stands at its start and at its end.
    """

    forms: frozenset[str]
    measures: tuple[Measure, ...]
    kind: str
    label: str
    synced: tuple[bool, bool]
    is_async: bool


class SiteFact(NamedTuple):
    """A site, without its file and function."""

    line: int
    column: int
    kind: str
    purpose: Purpose
    rule: str
    measure: Measure | None
    label: str


class Effect(NamedTuple):
    """A start or an end that a function leaves to others, in a place that outlives it.

    `param` names the parameter that hands the instant in, where the function reads no clock itself.
    """

    place: Expr
    measure: Measure
    accumulate: bool
    param: str
    line: int
    position: Position
    synced: bool = False
    primitive: str = ""


class DeviceMark(NamedTuple):
    """A recorded timing event; `role` is `start`, `end` or empty where nothing tells."""

    role: str
    read: Read
    event: Event


class Exit(NamedTuple):
    """A `return`, `raise`, `break` or `continue` with a start still open."""

    kind: str
    line: int
    start: Read


class Summary(NamedTuple):
    """What a call of the function does to measurements around it."""

    opens: tuple[Effect, ...]
    closes: tuple[Effect, ...]
    marks: tuple[DeviceMark, ...]
    hop: str = ""


EMPTY = Summary((), (), ())


class Facts(NamedTuple):
    """All that one body does with clocks."""

    sites: tuple[SiteFact, ...]
    timed: tuple[Timed, ...]
    exits: tuple[Exit, ...]
    lonely: tuple[Read, ...]
    ends: tuple[Read, ...]
    summary: Summary
    loads: frozenset[str]
    returned: tuple[Use, ...]
    returned_exprs: tuple[Expr, ...]
    others: tuple[Call, ...]
    syncs: frozenset[int]
    waits: frozenset[int]
    queries: frozenset[int]
    mixed: tuple[tuple[Read, Read], ...]
    calls: tuple[tuple[int, int, FunctionRef, str], ...]
    elapsed: tuple[Elapsed, ...]
    given: tuple[Read, ...]
