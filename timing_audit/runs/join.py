"""Records -> cycles and their parts. Regions close before what holds them, so one pass over the records is enough."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.runs.model import DECODE, IDLE, NOT_MEASURED, PREFILL, UNKNOWN, Part, Process, RunFile
from timing_audit.runtime import ring, values

DECODE_MODES = ("DECODE", "TARGET_VERIFY", "DRAFT_EXTEND", "DRAFT_EXTEND_V2")
PREFILL_MODES = ("EXTEND", "MIXED", "SPLIT_PREFILL", "PREBUILT", "DLLM_EXTEND")
KNOWN = {**dict.fromkeys(DECODE_MODES, DECODE), **dict.fromkeys(PREFILL_MODES, PREFILL), "IDLE": IDLE}
MOST_OPEN = 1 << 16
LOW, KIND = 0xFFFF, 0xFF
STREAM = 0xFFF

LATEST_NS = 1 << 62
"""No clock of ours gets there; what claims to is damage."""


class Span(NamedTuple):
    """One call of a probe."""

    probe: int
    start: int
    end: int
    raised: bool


class Root(NamedTuple):
    """A cycle that has ended, with the calls inside it."""

    span: Span
    inside: list[Span]
    window: int


def join(file: RunFile) -> Process:
    """The cycles of one file."""
    return _Join(file).process()


class _Join:
    def __init__(self, file: RunFile) -> None:
        self._words = file.words
        self._process = Process(file.name, file.header, file.counters, file.faults)
        probes = file.header.probes
        cycles = {probe.id for probe in probes.values() if probe.kind == "cycle"}
        self._roots = cycles
        self._open: dict[int, list[Span]] = {}
        self._last: dict[int, Root] = {}
        self._rows: dict[tuple[int, int], int] = {}
        self._at: dict[int, int] = {}
        self._window = 0
        self._unknown = 0
        # Of cycles that are not written down yet: what comes with them.
        self._early: dict[int, list[tuple[int, int, int, int]]] = {}

    def process(self) -> Process:
        words = self._words
        for tag, first, second, third in zip(words[0::4], words[1::4], words[2::4], words[3::4], strict=True):
            kind = tag >> ring.KIND_SHIFT & KIND
            if kind == ring.SPAN:
                self._span(tag, first, second, third)
            elif kind == ring.WINDOW:
                self._window = first
            elif kind != ring.ANCHOR:
                try:
                    self._later(tag, kind, first, second, third)
                except OverflowError:  # no figure of ours is that large
                    self._unknown += 1
        for root in self._last.values():
            self._write(root)
        self._process.outside += sum(len(spans) for spans in self._open.values())
        if self._unknown:
            self._process.faults += (f"{self._unknown:,} records could not be understood",)
        return self._process

    def _span(self, tag: int, thread: int, start: int, end: int) -> None:
        probe = tag & LOW
        if probe not in self._process.header.probes or not 0 <= start <= end < LATEST_NS:
            self._unknown += 1
            return
        span = Span(probe, start, end, bool(tag & ring.RAISED))
        waiting = self._open.setdefault(thread, [])
        if probe not in self._roots:
            waiting.append(span)
            if len(waiting) > MOST_OPEN:
                self._process.outside += len(waiting)
                waiting.clear()
            return
        inside = [one for one in waiting if one.start >= start]
        self._process.outside += len(waiting) - len(inside)
        waiting.clear()
        last = self._last.pop(thread, None)
        if last is not None and start < last.span.start and last.span.end <= end:
            inside = [*last.inside, last.span, *inside]  # a cycle inside this one is a part of it
        elif last is not None:
            self._write(last)
        self._last[thread] = Root(span, inside, self._window)

    def _later(self, tag: int, kind: int, first: int, second: int, third: int) -> None:
        """A record about something whose start is known; it may come before the cycle is written down."""
        if kind not in (ring.STREAM_SPAN, ring.VALUES, ring.TOKENS):
            self._unknown += 1
            return
        for root in self._last.values():
            if root.span.start <= first <= root.span.end:
                self._early.setdefault(root.span.start, []).append((tag, first, second, third))
                return
        self._apply(tag, first, second, third)

    def _apply(self, tag: int, first: int, second: int, third: int) -> None:
        kind, probe = tag >> ring.KIND_SHIFT & KIND, tag & LOW
        cycles = self._process.cycles
        row = self._at.get(first)
        if kind == ring.STREAM_SPAN:
            self._stream(tag, probe, first, second, third)
        elif row is None:
            return
        elif kind == ring.VALUES:
            cycles.size[row] = second & values.SIZE_MASK
            cycles.steps[row] = second >> values.STEPS_SHIFT & KIND
            cycles.graph[row] = min(second >> values.GRAPH_SHIFT & KIND, 2)
            cycles.forward[row] = third
            self._mode(row, second >> values.MODE_SHIFT & KIND)
        else:
            cycles.tokens[row], cycles.requests[row] = second, third

    def _mode(self, row: int, number: int) -> None:
        modes = self._process.header.modes
        if 0 < number <= len(modes):
            self._process.cycles.phase[row] = KNOWN.get(modes[number - 1].upper(), UNKNOWN)

    def _stream(self, tag: int, probe: int, start: int, offset: int, length: int) -> None:
        across = tag >> ring.BEGIN_SHIFT & STREAM != tag >> ring.END_SHIFT & STREAM
        if probe in self._roots and start in self._at:
            if not across:
                cycles, row = self._process.cycles, self._at[start]
                cycles.stream[row], cycles.step[row] = length, offset
            return
        row = self._rows.pop((probe, start), -1)
        if row >= 0:
            part = self._process.parts[probe]
            part.across += across
            part.offset[row] = offset
            part.stream[row] = NOT_MEASURED if across else length

    def _write(self, root: Root) -> None:
        cycles, span = self._process.cycles, root.span
        row = len(cycles.start)
        if len(self._rows) > MOST_OPEN:
            self._rows.clear()
        if len(self._at) > MOST_OPEN:
            self._at.clear()
        self._at[span.start] = row
        cycles.start.append(span.start)
        cycles.host.append(span.end - span.start)
        for column in (cycles.stream, cycles.step, cycles.tokens):
            column.append(NOT_MEASURED)
        for column in (cycles.size, cycles.steps, cycles.forward, cycles.requests):
            column.append(0)
        cycles.graph.append(0)
        cycles.window.append(root.window)
        cycles.phase.append(self._phase(root))
        cycles.raised += span.raised
        self._parts(row, root)
        for record in self._early.pop(span.start, ()):
            self._apply(*record)

    def _phase(self, root: Root) -> int:
        probes = self._process.header.probes
        stages = {probes[span.probe].stage for span in root.inside}
        phases = {probes[span.probe].phase for span in root.inside}
        if "target_extend" in stages or phases == {"prefill"}:
            return PREFILL
        return DECODE

    def _parts(self, row: int, root: Root) -> None:
        stack: list[Span] = []
        for span in sorted(root.inside, key=lambda one: (one.start, -one.end)):
            while stack and stack[-1].end <= span.start:
                stack.pop()
            part = self._process.parts.get(span.probe)
            if part is None:
                probe = self._process.header.probes[span.probe]
                part = self._process.parts[span.probe] = Part(probe, stack[-1].probe if stack else 0)
            self._rows[span.probe, span.start] = len(part.cycle)
            part.cycle.append(row)
            part.start.append(span.start)
            part.host.append(span.end - span.start)
            part.stream.append(NOT_MEASURED)
            part.offset.append(ring.NO_OFFSET)
            part.raised += span.raised
            stack.append(span)
