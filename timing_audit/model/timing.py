"""Timing facts: clocks, sites, brackets."""

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


class Bracket(NamedTuple):
    """An opening and a closing site on one clock.

    `covers` are the inclusive line ranges that it times: empty where its ends lie in two methods.
    `function` is the closing end's. `family` tells clocks that cannot be subtracted from each other
    (`time.time` from `time.perf_counter`). `conditional` is the flag it stands under, empty if none.
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


class Unpaired(NamedTuple):
    """A start without an end (`kind` = `start`), an end without a start (`end`), or an exit that skips the end (`exit`)."""

    file: str
    line: int
    kind: str
    function: FunctionRef | None
    related_line: int
    message: str
