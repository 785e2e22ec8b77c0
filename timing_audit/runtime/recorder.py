"""The recorder behind the probes: levels, the end of a cycle, the run file."""

from __future__ import annotations

import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

from timing_audit.runtime.control import DEVICE, HOST, LEVELS, OFF, POLL_NS, Control, environment_level, run_folder
from timing_audit.runtime.events import Events, Mark, find_events
from timing_audit.runtime.facts import place, process_facts
from timing_audit.runtime.ring import (
    ANCHOR,
    CYCLES,
    ERRORS,
    EVENT_NS,
    EVENT_PAIRS,
    KIND_SHIFT,
    LEVEL,
    LOST,
    OWN_NS,
    PERF_NS,
    WALL_NS,
    WINDOW,
    WORDS,
    Ring,
)  # fmt: skip
from timing_audit.runtime.values import Values

FORMAT = 1
DRAIN_NS, OVERDUE_NS, ANCHOR_NS = 4_000_000, 500_000_000, 1_000_000_000
MOST_WORDS = 1 << 22
MOST_ERRORS = 100
NEVER = 1 << 62
BLOCKED_NS = 100_000
"""A mark that takes longer waits for room in the engine's queue, as its next launch would: not our cost."""
Entry = tuple[int, str, str, str, str, str, int, str]

_now = time.perf_counter_ns
_buffer: list[int] = []
_keep = _buffer.extend


class Table(NamedTuple):
    """What generate.py writes for one audited tree."""

    manifest: str
    engine: str
    engine_version: str
    entries: Sequence[Entry]
    fields: Mapping[str, tuple[str, ...]]


class Kinds(NamedTuple):
    """The classes of probes, by level, and what they ask of each other."""

    roots: tuple[type[Any], ...]
    others: tuple[type[Any], ...]
    first: type[Any]
    set_due: Callable[[int], None]
    """Until when a region need not look after the buffer itself."""
    measure: Callable[[], dict[str, int]]


class Recorder:
    """Keeps what the probes saw, follows the control file, writes the run file."""

    def __init__(self, table: Table, kinds: Kinds) -> None:
        self.table = table
        self.kinds = kinds
        self.probes: dict[int, Any] = {}
        cycles = {entry[0] for entry in table.entries if entry[2] == "cycle"}
        # Without a root probe, every probe does the root's work.
        self.roots = cycles or {entry[0] for entry in table.entries}
        self.folder = run_folder(os.environ.get("TIMING_AUDIT_DIR", ""))
        self.wanted = environment_level(os.environ.get("TIMING_AUDIT", ""))
        self.lock = threading.Lock()
        self.lost = self.errors = self.cycles = 0
        self.event_ns = self.event_pairs = self.marking_ns = self.own_ns = 0
        self.reset()

    def reset(self) -> None:
        """A new process: nothing kept, no file, not started."""
        self.starting = self.started = False
        self.level = OFF
        self.base = self.wanted
        self.until = NEVER
        self.window = 0
        self.poll_at = self.drain_at = self.anchor_at = 0
        self.ring: Ring | None = None
        self.events: Events | None = None
        self.control = Control(os.path.join(self.folder, "control"))
        self.facts: dict[str, object] = {}
        self.notes: list[str] = []
        self.told = (0, 0)
        self.values = Values(self.table.fields, _keep)

    def probe(self, number: int) -> Any:
        """The probe of this number; until the first cycle it knows the host's clock at most."""
        first = self.kinds.first if number in self.roots else self.kinds.others[min(self.wanted, HOST)]
        made = self.probes[number] = first(number)
        return made

    def forked(self) -> None:
        """In the child of a fork: the parent's file and events are not ours."""
        self.lock = threading.Lock()
        self.lost = self.errors = self.cycles = 0
        self.event_ns = self.event_pairs = self.marking_ns = self.own_ns = 0
        _buffer.clear()
        self.reset()
        for number, probe in self.probes.items():
            probe.starts.clear()
            probe.marks.clear()
            probe.__class__ = self.kinds.first if number in self.roots else self.kinds.others[min(self.wanted, HOST)]

    # The process starts.

    def start(self, frame: FrameType) -> None:
        """At the first cycle, where the process knows its rank: looks around, says so, takes its level."""
        if self.starting:
            return
        self.starting = True
        self.kinds.set_due(_now() + OVERDUE_NS)
        owner = frame.f_locals.get("self")
        self.facts = process_facts(owner, self.notes)
        self.facts["cost"] = self.kinds.measure()
        if not _own_folder(self.folder):
            self.notes.append(f"{self.folder} cannot be used")
            self.poll_at = NEVER
            self.switch(OFF, NEVER)
            self._say(f"off for good: {self.folder} cannot be written, or belongs to another user")
            return
        self.started = True
        self.switch(self.wanted, NEVER)
        self.poll(_now())
        ranks = self.facts["ranks"]
        named = place(ranks).upper().replace("-", " ") if isinstance(ranks, dict) else "TP0"
        self._say(
            f"{len(self.table.entries)} probes, level {LEVELS[self.level]}, pid {os.getpid()}, {named}, "
            f"control {self.control.path}"
        )

    def _say(self, text: str) -> None:
        log = logging.getLogger("timing_audit")
        if log.isEnabledFor(logging.INFO) and log.hasHandlers():
            log.info("timing-audit: %s", text)
        else:
            sys.stderr.write(f"timing-audit: {text}\n")

    # Levels.

    def switch(self, level: int, until: int) -> None:
        """Goes to a level, between two cycles."""
        if self.ring is not None:
            self.drain(_now())  # what is kept belongs to the window that ends here
        self.until = until
        if level != self.level:
            self.window += 1
        self.level = level
        if level == DEVICE and self.events is None:
            self.events = find_events(_keep)
        shown = HOST if level == DEVICE and self.events is None else level
        for number, probe in self.probes.items():
            probe.__class__ = (self.kinds.roots if number in self.roots else self.kinds.others)[shown]
        self.anchor_at = 0
        if self.ring is not None:
            self.drain(_now())

    def poll(self, now: int) -> None:
        """Looks at the control file and the time; at most every quarter of a second."""
        self.poll_at = now + POLL_NS
        order = self.control.changed()
        if order is not None:
            if not order.length_ns:
                self.base = order.level
            self.switch(order.level, now + order.length_ns if order.length_ns else NEVER)
        elif now > self.until:
            self.switch(self.base, NEVER)
        elif self.level == DEVICE and self.events is None:
            self.switch(DEVICE, self.until)
        if self.level == OFF and (_buffer or self.values.waiting or (self.events and self.events.done)):
            self.values.settle(self._may_query())
            if self.events is not None:
                self.events.resolve()
            self.drain(now)

    # A cycle ends.

    def begin_stream(self, thread: int) -> None:
        """A cycle begins under the stream's clock."""
        if self.events is not None:
            self.events.begin_cycle(thread)

    def end_stream(self, thread: int, tag: int, start: int, mark: Mark | None) -> None:
        """A cycle ends under the stream's clock."""
        if self.events is None:
            return
        before = _now()
        root = self.events.bracket(tag, start, mark) if mark is not None else None
        cost = self.marking_ns + _now() - before
        if root is not None and cost < BLOCKED_NS:
            self.event_ns += cost
            self.event_pairs += 1
        self.events.end_cycle(thread, root)

    def close(self, tag: int, start: int, end: int, frame: FrameType) -> None:
        """What there is to do after a cycle."""
        before = time.thread_time_ns()  # not the clock: a busy machine takes the processor away at times
        self.cycles += 1
        opened = self.ring is not None
        scope = frame.f_back if frame.f_code is self.kinds.first.__exit__.__code__ else frame
        if scope is not None:
            self.values.note(tag, start, scope.f_locals, self._may_query())
        if self.events is not None:
            self.events.resolve()
        if end > self.drain_at:
            self.drain(end)
        if end > self.poll_at:
            self.poll(end)
        if opened:
            self.own_ns += time.thread_time_ns() - before

    def _may_query(self) -> bool:
        return self.events is not None and self.events.quiet()

    # The file.

    def drain(self, now: int) -> None:
        """Moves what was kept to the file. One thread at a time; who comes second has nothing to do."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            self._drain(now)
        finally:
            self.lock.release()

    def _drain(self, now: int) -> None:
        self.drain_at = now + DRAIN_NS
        self.kinds.set_due(now + OVERDUE_NS)
        if not self.started:
            if len(_buffer) > MOST_WORDS:
                self.lost += len(_buffer) // WORDS
                _buffer.clear()
            return
        if self.ring is None:
            if not _buffer:
                return
            self.ring = self._open()
        count = len(_buffer)
        words = _buffer[:count]
        del _buffer[:count]
        perf, wall = _now(), time.time_ns()
        if now > self.anchor_at:
            self.anchor_at = now + ANCHOR_NS
            words = [
                ANCHOR << KIND_SHIFT, 0, perf, wall, WINDOW << KIND_SHIFT, self.window, self.level, perf, *words,
            ]  # fmt: skip
        self.ring.append(words)
        self._counters(perf, wall)

    def _counters(self, perf: int, wall: int) -> None:
        ring, events = self.ring, self.events
        if ring is None:
            return
        told = (len(self.values.modes), len(events.handles) if events is not None else 0)
        if told != self.told:
            self.told = told
            ring.tell(self._facts())
        lost = self.lost + (events.lost if events is not None else 0)
        counters = {
            PERF_NS: perf, WALL_NS: wall, LEVEL: self.level, LOST: lost, ERRORS: self.errors, OWN_NS: self.own_ns,
            CYCLES: self.cycles, EVENT_NS: self.event_ns, EVENT_PAIRS: self.event_pairs,
        }  # fmt: skip
        for word, value in counters.items():
            ring.set(word, value)

    def _facts(self) -> dict[str, object]:
        return {
            "format": FORMAT, "manifest": self.table.manifest, "engine": self.table.engine,
            "engine_version": self.table.engine_version, "probes": self.table.entries, **self.facts,
            "modes": self.values.modes, "streams": self.events.handles if self.events is not None else [],
            "notes": self.notes,
        }  # fmt: skip

    def _open(self) -> Ring:
        facts = self._facts()
        ranks = self.facts.get("ranks")
        named = place(ranks) if isinstance(ranks, dict) else "tp0"
        stem = os.path.join(self.folder, f"{facts['host']}-{facts['role']}-{named}-{os.getpid()}")
        most = int(float(os.environ.get("TIMING_AUDIT_MB") or 256) * (1 << 20)) // (8 * WORDS)
        for attempt in range(100):
            try:
                return Ring(f"{stem}{f'.{attempt}' if attempt else ''}.tarec", facts, 1 << 16, most)
            except FileExistsError:  # noqa: PERF203 - once
                continue
        raise FileExistsError(stem)

    def finish(self) -> None:
        """At a regular end: what was kept since the last drain."""
        if self.started and (_buffer or self.ring is not None):
            self.drain(_now())

    def trouble(self, error: Exception) -> None:
        """An error of ours: counted, noted once, and after too many the timers stay off."""
        self.errors += 1
        if len(self.notes) < 10:
            self.notes.append(repr(error)[:300])
            self.told = (-1, -1)
        if self.errors == MOST_ERRORS:
            self.poll_at = NEVER
            for number, probe in self.probes.items():
                probe.__class__ = (self.kinds.roots if number in self.roots else self.kinds.others)[OFF]


def _own_folder(path: str) -> bool:
    """Makes the folder; false where it is another user's, or cannot be written."""
    try:
        os.makedirs(path, mode=0o755, exist_ok=True)
        status = os.stat(path)
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid() or "TIMING_AUDIT_DIR" in os.environ
    return mine and stat.S_ISDIR(status.st_mode) and os.access(path, os.W_OK)
