"""One run file -> its header and its whole records; a damaged or growing file is read as far as it is sound."""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from collections.abc import Mapping

from timing_audit.runs.model import Counters, Header, Probe, RunFile
from timing_audit.runtime import ring

READ_AGAIN = 3


class Damaged(Exception):
    """The file cannot be read at all; the message says why."""


def read_run_file(name: str, data: bytes) -> RunFile:
    """The file's content. Raises Damaged where not even the header is sound."""
    if len(data) < ring.HEAD_SIZE or data[:8] != ring.MAGIC:
        raise Damaged("not a run file, or one that was never finished")
    head = struct.unpack_from(f"<{ring.HEAD_WORDS}q", data)
    faults: list[str] = []
    header = _header(data, head, faults)
    words, overwritten = _records(data, head, faults)
    counters = Counters(
        head[ring.COMMITTED], overwritten, head[ring.LOST], head[ring.ERRORS], head[ring.LEVEL], head[ring.OWN_NS],
        head[ring.CYCLES], head[ring.EVENT_NS], head[ring.EVENT_PAIRS], head[ring.PERF_NS], head[ring.WALL_NS],
    )  # fmt: skip
    return RunFile(name, header, counters, words, tuple(faults))


def _header(data: bytes, head: tuple[int, ...], faults: list[str]) -> Header:
    size = head[ring.SLOT_SIZE]
    if not 0 < size < 1 << 30:
        raise Damaged("the size of its header is impossible")
    current = head[ring.SLOT] & 1
    for slot in (current, 1 - current):
        text = _facts(data, ring.HEAD_SIZE + slot * size, size)
        if text is not None:
            if slot != current:
                faults.append("the newest facts are damaged; older ones were taken")
            return parse_header(text)
    raise Damaged("its facts are damaged")


def _facts(data: bytes, start: int, size: int) -> bytes | None:
    if start + 16 > len(data):
        return None
    length, crc = struct.unpack_from("<qq", data, start)
    text = data[start + 16 : start + 16 + length] if 0 < length <= size - 16 else b""
    return text if len(text) == length and length and zlib.crc32(text) == crc else None


def parse_header(text: bytes) -> Header:
    """The facts, typed. Raises Damaged for a format of another version."""
    try:
        facts = json.loads(text)
        if facts.get("format") != 1:
            raise Damaged(f"its format is {facts.get('format')!r}; this version reads format 1")
        probes = {entry[0]: Probe(*entry) for entry in facts["probes"]}
        cost = facts.get("cost") or {}
        return Header(
            probes, str(facts["manifest"]), str(facts["engine"]), str(facts["engine_version"]), int(facts["pid"]),
            str(facts["host"]), str(facts["role"]), str(facts.get("launch", "")), str(facts.get("worker", "")),
            _mapping(facts, "ranks"), _mapping(facts, "server_args"), _mapping(facts, "environment"),
            _mapping(facts, "device"), tuple(facts.get("modes", ())), tuple(facts.get("notes", ())),
            int(facts.get("started_ns", 0)), int(cost.get("off_ps", 0)), int(cost.get("host_ps", 0)),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"its facts cannot be understood ({error})") from None


def _mapping(facts: Mapping[str, dict[str, int]], name: str) -> Mapping[str, int]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _records(data: bytes, head: tuple[int, ...], faults: list[str]) -> tuple[array[int], int]:
    """The whole records, oldest first, and how many older ones the ring has overwritten."""
    base = ring.HEAD_SIZE + 2 * head[ring.SLOT_SIZE]
    room, committed = head[ring.ALLOCATED], head[ring.COMMITTED]
    reserved = max(committed, head[ring.RESERVED])
    if room <= 0 or committed < 0:
        raise Damaged("its counters are impossible")
    first = max(0, reserved - room)
    there = max(0, len(data) - base) // ring.RECORD
    words: array[int] = array("q")
    for begin, end in _stretches(first, committed, room):
        if end > there:
            faults.append(f"cut short: {end - max(begin, there):,} of {committed - first:,} records are missing")
        words.frombytes(data[base + begin * ring.RECORD : base + min(end, there) * ring.RECORD])
        if end > there:
            break
    return words, first


def _stretches(first: int, last: int, room: int) -> list[tuple[int, int]]:
    """The places of records `first` to `last`, which the ring's end may part in two."""
    if last <= first:
        return []
    begin, count = first % room, last - first
    if begin + count <= room:
        return [(begin, begin + count)]
    return [(begin, room), (0, begin + count - room)]
