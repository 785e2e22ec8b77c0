"""What the checks judge, beside the report: facts about measurements, without an opinion."""

from __future__ import annotations

from typing import NamedTuple


class Spot(NamedTuple):
    """Where something is; `phase` is one of the words of sites and brackets."""

    file: str
    line: int
    end_line: int
    function: str
    stage: str | None
    phase: str


class LooseEnd(NamedTuple):
    """A start without an end (`kind` = `start`), an end without a start (`end`), an exit that skips one (`exit`)."""

    spot: Spot
    kind: str
    start_line: int
    detail: str


class Mixed(NamedTuple):
    """A difference of two instants of unrelated clocks."""

    spot: Spot
    start_family: str
    end_family: str


class Interval(NamedTuple):
    """An interval on a clock that can step."""

    spot: Spot
    clock: str


class Launch(NamedTuple):
    """A host clock around work that is only launched: nothing in it waits for the device.

    `work` is the first such call as written; `named` tells that its name alone says so.
    """

    spot: Spot
    work: str
    work_line: int
    named: bool


class EventFault(NamedTuple):
    """A reading of two events that cannot give a time: `kind` is `untimed`, `unready` or `streams`."""

    spot: Spot
    kind: str
    detail: str


class HotSync(NamedTuple):
    """A wait of the host on the hot path, for a `device` or an `event`; `timer_line` is that of its timer, or 0."""

    spot: Spot
    target: str
    timer_line: int


class Silent(NamedTuple):
    """A timer in code that does not run as Python when it counts.

    `why` is `compiled`, `recorded` (between the start and the end of a recording) or `captured` (all ways to
    it are replaced by a replay).
    """

    spot: Spot
    clock: str
    why: str


class Replay(NamedTuple):
    """A replay of a graph that no device timer covers; `covered` are the places of siblings that one does.

    `shared` tells that they are calls of the same replay; else their classes are of one kind.
    """

    spot: Spot
    text: str
    covered: tuple[str, ...]
    shared: bool


class UnusedTimer(NamedTuple):
    """A timing helper that nothing calls; `form` is `start`, `stop`, `context`, `decorator`, `setter`, ...

    Where only a part of a package was searched (`whole` is false), the rest may call it.
    """

    spot: Spot
    name: str
    form: str
    whole: bool


class Label(NamedTuple):
    """A label that the code spells out, of a timer that serves a stage."""

    spot: Spot
    label: str
    clock: str


class WrongLabel(NamedTuple):
    """A timer whose label says another stage than the one that it times; `cause` says where the label is from."""

    spot: Spot
    label: str
    says: str
    times: str
    cause: str
    sure: bool


class Probe(NamedTuple):
    """A line that carries the mark of an inserted timer."""

    file: str
    line: int
    id: str


class Suppression(NamedTuple):
    """A comment that silences findings whose first line lies in a range of lines."""

    file: str
    line: int
    start: int
    end: int
    checks: tuple[str, ...]
    reason: str


class Evidence(NamedTuple):
    """Everything that a run found out for the checks."""

    loose: tuple[LooseEnd, ...] = ()
    mixed: tuple[Mixed, ...] = ()
    intervals: tuple[Interval, ...] = ()
    launches: tuple[Launch, ...] = ()
    events: tuple[EventFault, ...] = ()
    syncs: tuple[HotSync, ...] = ()
    silent: tuple[Silent, ...] = ()
    replays: tuple[Replay, ...] = ()
    unused: tuple[UnusedTimer, ...] = ()
    labels: tuple[Label, ...] = ()
    wrong_labels: tuple[WrongLabel, ...] = ()
    probes: tuple[Probe, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
