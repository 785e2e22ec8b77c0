"""What is wrong with a measurement by itself: loose ends, unrelated clocks, clocks that step, waits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import HotSync, Interval, LooseEnd, Mixed, Spot
from timing_audit.model.pack import CallRule, Packs
from timing_audit.model.program import FunctionRef
from timing_audit.model.syntax import Try
from timing_audit.model.timing import BodyTiming, Bracket, ClassTiming, Clock, MixedClocks, Unpaired
from timing_audit.program.engine import PHASES
from timing_audit.program.scopes import nodes
from timing_audit.timing.describe import Facts

KEPT = re.compile(r"self\.(\w+)$")


class Faults:
    """Reads the faults off the timing of bodies and of classes."""

    def __init__(self, facts: Facts, packs: Packs, spots: Spots, classes: tuple[ClassTiming, ...]) -> None:
        self._facts = facts
        self._spots = spots
        self._bodies: tuple[BodyTiming, ...] = (*facts.modules, *facts.bodies.values())
        self._classes = classes
        self._sources: list[BodyTiming | ClassTiming] = [*self._bodies, *classes]
        self._steps = {
            rule.family: name for rule in packs.select(CallRule) if rule.steps for name in reversed(rule.calls)
        }

    def loose(self) -> Iterator[LooseEnd]:
        """Starts without an end, ends without a start, exits that skip an end."""
        for body in self._bodies:
            for fault in body.unpaired:
                yield self._loose(fault)
        for found in self._classes:
            for fault in found.unpaired:
                if not self._is_read(fault):
                    yield self._loose(fault)

    def _loose(self, fault: Unpaired) -> LooseEnd:
        spot = self._spots.of(fault.function, fault.file, fault.line)
        return LooseEnd(spot, fault.kind, fault.related_line, fault.message)

    def _is_read(self, fault: Unpaired) -> bool:
        """Whether anything mentions the attribute without setting it; only bodies about time were followed before."""
        name = KEPT.search(fault.message)
        if name is None:
            return True
        read = re.compile(rb"\b%s\b(?![ \t]*(?::[^=\n]*)?=(?!=))" % name[1].encode())
        return any(read.search(unit.module.source) for unit in self._facts.library.units)

    def mixed(self) -> Iterator[Mixed]:
        """Differences of unrelated clocks."""
        for source in self._sources:
            for fault in source.mixed:
                yield self._mixed(fault)

    def _mixed(self, fault: MixedClocks) -> Mixed:
        first, last = sorted((fault.start_line, fault.end_line))
        spot = self._spots.of(fault.function, fault.file, fault.end_line)
        return Mixed(spot._replace(line=first, end_line=last), fault.start_family, fault.end_family)

    def intervals(self) -> Iterator[Interval]:
        """Intervals on a clock that can step; where a helper reads the clock, it is told once, at the helper."""
        own = (bracket for source in self._sources for bracket in source.brackets)
        for bracket in own:
            # A function that gives back a clock's time has no bracket of its own.
            own_clock = not bracket.hops or bracket.how == "read"
            if bracket.family in self._steps and own_clock and bracket.clock is Clock.HOST:
                yield Interval(self._spot(bracket), self._steps[bracket.family])

    def _spot(self, bracket: Bracket) -> Spot:
        return self._spots.of(bracket.function, bracket.file, bracket.start_line, bracket.end_line)

    def _own_timer(self, ref: FunctionRef, body: BodyTiming) -> int:
        """Where the timer begins of which the function is an end; 0 where it is none."""
        for end in body.ends:
            for found in self._classes:
                for bracket in found.brackets:
                    if (bracket.file, bracket.end_line) == (body.file, end.line):
                        return bracket.start_line
        if body.starts:
            return body.starts[0].line
        return ref.line if self._facts.survey.keeps_time(ref) else 0

    def _is_after_failure(self, ref: FunctionRef, line: int) -> bool:
        """Whether a line stands in an `except` clause: no cycle that works comes there."""
        handlers = [
            stmt.line <= line <= stmt.end_line
            for node in nodes(self._facts.library.body(ref))
            if type(node) is Try
            for handler in node.handlers
            for stmt in handler.body
        ]
        return any(handlers)

    def syncs(self) -> Iterator[HotSync]:
        """Waits of the host on the hot path."""
        for body in self._facts.bodies.values():
            ref = body.function
            if ref is None or ref in self._facts.timers or self._facts.roles.role(ref) != "hot":
                continue
            for sync in body.syncs:
                if self._is_after_failure(ref, sync.line):
                    continue
                spot = self._spots.of(ref, sync.file, sync.line)
                if spot.phase in PHASES:
                    # What is read behind a wait is what the wait is for, wherever it was recorded.
                    read = min((reading.line for reading in body.elapsed if reading.line > sync.line), default=0)
                    yield HotSync(spot, sync.target, sync.timer_line or read or self._own_timer(ref, body))
