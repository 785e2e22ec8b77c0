"""Which cycles count: decode alone; prefill, idle and the first ones are set apart, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from timing_audit.runs.model import DECODE, NOT_MEASURED, PHASES, Part, Process
from timing_audit.runtime.ring import NO_OFFSET

WARM_UP, WARM_UP_SHARE = 50, 20


class Chosen(NamedTuple):
    """The cycles of one process that count, and columns that go with them: one value a chosen cycle."""

    process: Process
    rows: list[int]
    host: list[int]
    stream: list[int]
    """Stream time, NOT_MEASURED where there is none."""
    parts: dict[int, PartSums]
    host_seams: list[int]
    stream_seams: list[int]
    gaps: dict[int, list[int]]
    apart: dict[str, int]


class PartSums(NamedTuple):
    """One probe's calls, summed over each chosen cycle; and each call by itself."""

    part: Part
    host: list[int]
    stream: list[int]
    host_calls: list[int]
    stream_calls: list[int]


def choose(process: Process, last: int | None = None) -> Chosen:
    """The chosen cycles of a process, with everything that is summed over them."""
    cycles = process.cycles
    decode = [row for row, phase in enumerate(cycles.phase) if phase == DECODE]
    first = min(WARM_UP, len(decode) // WARM_UP_SHARE)
    rows = decode[first:]
    if last is not None:
        rows = rows[-last:] if last else []
    apart = {name: sum(phase == code for phase in cycles.phase) for code, name in enumerate(PHASES) if code != DECODE}
    apart["warm-up"] = first
    place = {row: at for at, row in enumerate(rows)}
    parts = {probe: _sums(part, place, len(rows)) for probe, part in process.parts.items()}
    parts = {probe: sums for probe, sums in parts.items() if sums.host_calls}
    host_seams, stream_seams, gaps = _seams(process, place, len(rows))
    return Chosen(
        process, rows, [cycles.host[row] for row in rows], [cycles.stream[row] for row in rows], parts, host_seams,
        stream_seams, gaps, apart,
    )  # fmt: skip


def _sums(part: Part, place: dict[int, int], count: int) -> PartSums:
    host, stream = [0] * count, [0] * count
    host_calls: list[int] = []
    stream_calls: list[int] = []
    for row, host_ns, stream_ns in zip(part.cycle, part.host, part.stream, strict=True):
        at = place.get(row)
        if at is None:
            continue
        host[at] += host_ns
        host_calls.append(host_ns)
        if stream_ns == NOT_MEASURED:
            stream[at] = NOT_MEASURED
        elif stream[at] != NOT_MEASURED:
            stream[at] += stream_ns
            stream_calls.append(stream_ns)
    return PartSums(part, host, stream, host_calls, stream_calls)


def _seams(process: Process, place: dict[int, int], count: int) -> tuple[list[int], list[int], dict[int, list[int]]]:
    """Time between the outermost parts of each cycle, by clock; the gap before each part, on the leading one."""
    host: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
    stream: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
    for probe, part in process.parts.items():
        if part.parent:
            continue
        columns = zip(part.cycle, part.start, part.host, part.offset, part.stream, strict=True)
        for row, start, length, offset, stream_length in columns:
            at = place.get(row)
            if at is None:
                continue
            host[at].append((start, length, probe))
            if stream_length != NOT_MEASURED and offset != NO_OFFSET:
                stream[at].append((offset, stream_length, probe))
    gaps: dict[int, list[int]] = {}
    streamed = any(stream)
    return _between(host, {} if streamed else gaps), _between(stream, gaps if streamed else {}), gaps


def _between(cycles: Sequence[list[tuple[int, int, int]]], gaps: dict[int, list[int]]) -> list[int]:
    found = []
    for parts in cycles:
        parts.sort()
        total, end = 0, None
        for start, length, probe in parts:
            if end is not None:
                gap = max(0, start - end)
                total += gap
                gaps.setdefault(probe, []).append(gap)
            end = start + length if end is None else max(end, start + length)
        found.append(total)
    return found
