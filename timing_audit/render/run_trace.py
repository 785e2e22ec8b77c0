"""A run as a Chrome trace for Perfetto: a track a rank and clock, so that no two slices on one overlap."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

from timing_audit.runs.find import Run
from timing_audit.runs.model import NOT_MEASURED, PHASES, Process
from timing_audit.runtime.ring import NO_OFFSET

HOST_TRACK, STREAM_TRACK = 1, 2
Event = dict[str, object]


def run_trace(run: Run, last: int | None, packed: bool) -> bytes:
    """The trace's bytes, packed by gzip where asked."""
    begin = min((process.cycles.start[0] for process in run.processes if process.cycles.start), default=0)
    lines = ",\n".join(
        json.dumps(event, separators=(",", ":"))
        for number, process in enumerate(run.processes, start=1)
        for event in _process(number, process, last, begin)
    )
    data = f'{{"displayTimeUnit":"ms","traceEvents":[\n{lines}\n]}}\n'.encode()
    return gzip.compress(data, mtime=0) if packed else data


def _process(number: int, process: Process, last: int | None, begin: int) -> Iterator[Event]:
    yield {"ph": "M", "pid": number, "name": "process_name", "args": {"name": f"{process.rank} {process.header.host}"}}
    for track, name in ((HOST_TRACK, "host"), (STREAM_TRACK, "stream time, from the cycle's host start")):
        yield {"ph": "M", "pid": number, "tid": track, "name": "thread_name", "args": {"name": name}}
    first = max(0, len(process.cycles.start) - last) if last is not None else 0
    slices: list[tuple[int, int, int, str]] = []
    streams = _stream_starts(process)
    cycles = process.cycles
    for row in range(first, len(cycles.start)):
        name = f"{PHASES[cycles.phase[row]]} cycle"
        slices.append((HOST_TRACK, cycles.start[row], cycles.host[row], name))
        if cycles.stream[row] != NOT_MEASURED:
            slices.append((STREAM_TRACK, streams[row], cycles.stream[row], name))
        yield {"ph": "C", "pid": number, "name": "batch size", "ts": (cycles.start[row] - begin) / 1000,
               "args": {"requests": cycles.size[row]}}  # fmt: skip
    for part in process.parts.values():
        for at, row in enumerate(part.cycle):
            if row < first:
                continue
            slices.append((HOST_TRACK, part.start[at], part.host[at], part.probe.name))
            if part.stream[at] != NOT_MEASURED and part.offset[at] != NO_OFFSET and cycles.stream[row] != NOT_MEASURED:
                slices.append((STREAM_TRACK, streams[row] + part.offset[at], part.stream[at], part.probe.name))
    yield from _nested(number, slices, begin)


def _stream_starts(process: Process) -> list[int]:
    """Where each cycle's stream time begins: chained from root to root, never before the last one's end."""
    found: list[int] = []
    end = 0
    for row, start in enumerate(process.cycles.start):
        step = process.cycles.step[row]
        chained = found[-1] + step if found and step not in (NOT_MEASURED, NO_OFFSET) else start
        found.append(max(start, chained, end))
        end = found[-1] + max(0, process.cycles.stream[row])
    return found


def _nested(number: int, slices: list[tuple[int, int, int, str]], begin: int) -> Iterator[Event]:
    """In order; a slice that would outlast the one that holds it, by the device clock's resolution, is cut."""
    slices.sort(key=lambda one: (one[0], one[1], -one[2]))
    ends: list[int] = []
    track_before = 0
    for track, start, length, name in slices:
        if track != track_before:
            ends, track_before = [], track
        while ends and ends[-1] <= start:
            ends.pop()
        end = min(start + length, ends[-1]) if ends else start + length
        ends.append(end)
        yield {"ph": "X", "pid": number, "tid": track, "name": name, "ts": (start - begin) / 1000,
               "dur": (end - start) / 1000}  # fmt: skip
