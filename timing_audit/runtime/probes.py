"""The probes: what `with` enters inside the engine, a class for each level."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import defaultdict
from types import TracebackType
from typing import Any, Optional

from timing_audit.runtime.events import Mark
from timing_audit.runtime.recorder import NEVER, Kinds, Recorder, Table, _buffer, _keep, _now
from timing_audit.runtime.ring import (
    RAISED,
)  # fmt: skip

Error = Optional[type[BaseException]]

_ident = threading.get_ident
_due = 0


class Region:
    """A probe: `with` on it brackets a region. This is the class of one that is off; others replace it."""

    __slots__ = ("marks", "raised", "starts", "tag")

    def __init__(self, number: int) -> None:
        self.tag = number
        self.raised = number | RAISED
        self.starts: dict[int, list[int]] = {}  # a plain one: the interpreter is quickest with it
        self.marks: defaultdict[int, list[Mark | None]] = defaultdict(list)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        pass


class HostRegion(Region):
    """A region under the host's clock. A list of starts for each thread, so that recursion and threads pair rightly."""

    __slots__ = ()

    def __enter__(self) -> None:
        thread = _ident()
        try:
            self.starts[thread].append(_now())
        except KeyError:
            self.starts[thread] = [_now()]

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        end = _now()
        thread = _ident()
        try:
            start = self.starts[thread].pop()
        except LookupError:
            _recorder.lost += 1  # entered in another thread, or before a fork
            return
        if kind is None:
            _keep((self.tag, thread, start, end))
        else:
            _keep((self.raised, thread, start, end))
        if end > _due:
            _overdue(end)


class StreamRegion(Region):
    """A region under the host's clock and the stream's."""

    __slots__ = ()

    def __enter__(self) -> None:
        thread = _ident()
        self.marks[thread].append(_mark())
        self.starts.setdefault(thread, []).append(_now())

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        end = _now()
        thread = _ident()
        try:
            start = self.starts[thread].pop()
            _keep((self.tag if kind is None else self.raised, thread, start, end))
            _bracket(thread, self, start, self.marks[thread].pop())
        except LookupError:
            _recorder.lost += 1
        if end > _due:
            _overdue(end)


class Cycle(Region):
    """The root region of a step, off: it looks at the control file now and then."""

    __slots__ = ()

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        now = _now()
        if now > _recorder.poll_at:
            _guarded(_recorder.poll, now)


class HostCycle(Region):
    """The root region under the host's clock; what the runtime has to do, it does after its end."""

    __slots__ = ()

    def __enter__(self) -> None:
        self.starts.setdefault(_ident(), []).append(_now())

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        end = _now()
        thread = _ident()
        try:
            start = self.starts[thread].pop()
        except LookupError:
            _recorder.lost += 1
            return
        _keep((self.tag if kind is None else self.raised, thread, start, end))
        _guarded(_recorder.close, self.tag, start, end, sys._getframe(1))


class StreamCycle(Region):
    """The root region under both clocks."""

    __slots__ = ()

    def __enter__(self) -> None:
        thread = _ident()
        before = _now()
        _guarded(_recorder.begin_stream, thread)
        self.marks[thread].append(_mark())
        start = _now()
        _recorder.marking_ns = start - before
        self.starts.setdefault(thread, []).append(start)

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        end = _now()
        thread = _ident()
        try:
            start, mark = self.starts[thread].pop(), self.marks[thread].pop()
        except LookupError:
            _recorder.lost += 1
            return
        _keep((self.tag if kind is None else self.raised, thread, start, end))
        _guarded(_recorder.end_stream, thread, self.tag, start, mark)
        _guarded(_recorder.close, self.tag, start, end, sys._getframe(1))


class FirstCycle(Region):
    """The root region of a process that has not yet said that it runs."""

    __slots__ = ()

    def __enter__(self) -> None:
        _guarded(_recorder.start, sys._getframe(1))
        type(self).__enter__(self)

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        now = type(self)
        if now is FirstCycle:
            return  # it could not start
        # One frame more than the others have: the root's caller is looked up from there.
        now.__exit__(self, kind, error, trace)


ROOTS: tuple[type[Region], ...] = (Cycle, HostCycle, StreamCycle)
OTHERS: tuple[type[Region], ...] = (Region, HostRegion, StreamRegion)


def _guarded(do: Any, *arguments: Any) -> None:
    try:
        do(*arguments)
    except Exception as error:  # noqa: BLE001 - the engine must not notice
        _recorder.trouble(error)


def _mark() -> Mark | None:
    events = _recorder.events
    if events is None:
        return None
    try:
        return events.mark()
    except Exception as error:  # noqa: BLE001 - the engine must not notice
        _recorder.trouble(error)
        return None


def _bracket(thread: int, region: Region, start: int, mark: Mark | None) -> None:
    events = _recorder.events
    if mark is None or events is None:
        return
    try:
        bracket = events.bracket(region.tag, start, mark)
        if bracket is not None:
            events.add(thread, bracket)
    except Exception as error:  # noqa: BLE001 - the engine must not notice
        _recorder.trouble(error)


def _overdue(now: int) -> None:
    _guarded(_recorder.drain, now)


def _set_due(at: int) -> None:
    global _due
    _due = at


def measure() -> dict[str, int]:
    """What one region costs here, in picoseconds: off, and under the host's clock. Nothing of it is kept."""
    costs = {}
    for name, kind in (("off_ps", Region), ("host_ps", HostRegion)):
        region = kind(0)
        best = NEVER
        for _ in range(5):
            before, kept = _now(), len(_buffer)
            for _ in range(100):
                with region:
                    pass
            best = min(best, _now() - before)
            del _buffer[kept:]
        costs[name] = best * 10
    return costs


# The table: generate.py puts that of the audited tree here.
TABLE = Table("", "", "", (), {})
# The table ends.

_recorder = Recorder(TABLE, Kinds(ROOTS, OTHERS, FirstCycle, _set_due, measure))
atexit.register(_guarded, _recorder.finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_recorder.forked)
