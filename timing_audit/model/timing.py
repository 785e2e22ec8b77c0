"""Timing facts: clocks, sites, brackets, wrappers, and what is wrong with a measurement by itself."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from timing_audit.model.program import FunctionRef


class Clock(str, Enum):
    """The three columns of coverage, which are never added together."""

    HOST = "host"
    DEVICE = "device"
    TRACE = "trace"


class Purpose(str, Enum):
    """What a site is for."""

    TIMING = "timing"
    ORDERING = "ordering"
    SYNC = "sync"


class Site(NamedTuple):
    """One place that has to do with timing.

    `kind` is one of DESIGN's site kinds; `rule` the id of the pack rule that named it, empty for an
    inferred wrapper. `hops` are the wrappers between the site and the primitive, `file:line name`;
    `gate` is the condition under which it times at all, empty when always.
    """

    file: str
    line: int
    column: int
    kind: str
    purpose: Purpose
    function: FunctionRef | None
    rule: str
    hops: tuple[str, ...]
    gate: str
    label: str = ""


class Bracket(NamedTuple):
    """An opening and a closing site on one clock.

    `covers` are the inclusive line ranges that it times: empty where its ends lie in two methods.
    `function` is the closing end's. `family` tells clocks that cannot be subtracted from each other
    (`time.time` from `time.perf_counter`). `how` is `read` (two clock reads), `call` (a start and a stop
    function), `event`, `stack` (push and pop), `span` (a `with` item), `enter` (`enter_context`),
    `decorator`, `callable` (the callee calls what it is given) or `methods` (two methods of a class).
    `gate` is the condition under which it times; `conditional` tells that the condition is this
    function's own. `inside` are the starts (line, column) of later items of the same `with`, which are
    evaluated inside. `synced` says whether the device was synchronised at its start and at its end,
    `host_sync` whether a synchronisation lies within.
    """

    file: str
    start_line: int
    end_line: int
    clock: Clock
    function: FunctionRef | None
    label: str
    rule: str
    family: str
    covers: tuple[tuple[int, int], ...]
    hops: tuple[str, ...]
    gate: str
    how: str = "read"
    conditional: bool = False
    inside: tuple[tuple[int, int], ...] = ()
    synced: tuple[bool, bool] = (False, False)
    host_sync: bool = False


class Unpaired(NamedTuple):
    """A start without an end (`kind` = `start`), an end without a start (`end`), or an exit that skips it (`exit`)."""

    file: str
    line: int
    kind: str
    function: FunctionRef | None
    related_line: int
    message: str


class MixedClocks(NamedTuple):
    """A difference of two instants whose clocks have nothing to do with each other."""

    file: str
    start_line: int
    end_line: int
    start_family: str
    end_family: str
    function: FunctionRef | None


class Sync(NamedTuple):
    """A synchronisation with the device (`device`) or a wait for an event (`event`).

    `timer_line` is the first line of the bracket that it belongs to, 0 where it belongs to none.
    """

    file: str
    line: int
    target: str
    function: FunctionRef | None
    timer_line: int


class Elapsed(NamedTuple):
    """A reading of the time between two events, with the places (line, column) where they were recorded.

    A place is (0, 0) where nothing here records the event; `timing` says of both whether they were made to
    time, None where nothing tells.
    """

    line: int
    start: tuple[int, int]
    end: tuple[int, int]
    timing: tuple[bool | None, bool | None]


class Wrapper(NamedTuple):
    """One clock of something that times what its caller supplies; a wrapper on two clocks has two.

    `forms` are `context`, `decorator`, `callable`, `start`, `stop`. `kind` is the kind of site that a
    use of it makes. `hops` lead from the wrapper to the primitive, `file:line name`.
    """

    file: str
    line: int
    name: str
    forms: frozenset[str]
    clock: Clock
    family: str
    kind: str
    hops: tuple[str, ...]
    gate: str
    synced: tuple[bool, bool]


class Kept(NamedTuple):
    """A start or an end that a method leaves in an attribute or takes from one: `place` is `self.t0`."""

    place: str
    line: int
    clock: Clock
    family: str
    rule: str
    hops: tuple[str, ...]


class BodyTiming(NamedTuple):
    """All about the time of one function body.

    `starts`, `ends` and `loads` are what other methods of the class need to know: attributes in which
    it leaves a start, whose start it ends, and which it reads.
    """

    file: str
    function: FunctionRef | None
    sites: tuple[Site, ...] = ()
    brackets: tuple[Bracket, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    mixed: tuple[MixedClocks, ...] = ()
    syncs: tuple[Sync, ...] = ()
    starts: tuple[Kept, ...] = ()
    ends: tuple[Kept, ...] = ()
    loads: frozenset[str] = frozenset()
    elapsed: tuple[Elapsed, ...] = ()


class ClassTiming(NamedTuple):
    """Measurements that start in one method of a class and end in another."""

    brackets: tuple[Bracket, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    mixed: tuple[MixedClocks, ...] = ()
