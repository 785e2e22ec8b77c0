"""Readings of event pairs that cannot give a time."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.evidence.launches import Launches
from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import EventFault
from timing_audit.model.program import FunctionRef
from timing_audit.model.syntax import Attr, Block, Call, With
from timing_audit.model.timing import BodyTiming, Elapsed
from timing_audit.program.scopes import nodes
from timing_audit.timing.describe import Facts
from timing_audit.timing.walk import terminal, text

STREAM_CONTEXTS = ("stream", "StreamContext")
CURRENT = "the current stream"


class Events:
    """Judges every reading of two events."""

    def __init__(self, facts: Facts, spots: Spots, launches: Launches) -> None:
        self._facts = facts
        self._spots = spots
        self._launches = launches

    def found(self) -> Iterator[EventFault]:
        """The readings that cannot be right."""
        for ref, body in self._facts.bodies.items():
            told: set[tuple[int, str]] = set()
            for reading in body.elapsed:
                for kind, detail in self._faults(ref, body, reading):
                    if (reading.line, kind) not in told:
                        told.add((reading.line, kind))
                        yield EventFault(self._spots.of(ref, body.file, reading.line), kind, detail)

    def _faults(self, ref: FunctionRef, body: BodyTiming, reading: Elapsed) -> Iterator[tuple[str, str]]:
        if False in reading.timing:
            yield "untimed", "start" if reading.timing[0] is False else "end"
            return
        start, end = reading.start[0], reading.end[0]
        if start and end:
            block = self._facts.library.body(ref)
            streams = _stream(block, reading.start), _stream(block, reading.end)
            if streams[0] != streams[1]:
                yield "streams", f"{streams[0]} and {streams[1]}"
        if end and not self._is_ready(ref, body, end, reading.line):
            yield "unready", f"line {end}"

    def _is_ready(self, ref: FunctionRef, body: BodyTiming, end: int, line: int) -> bool:
        """Whether the host waited or asked between the record of the end and the reading."""
        if end >= line or any(end < sync.line <= line for sync in body.syncs):
            return True
        asked = any(
            type(node) is Call and end <= node.line <= line and terminal(node.func) == "query"
            for node in nodes(self._facts.library.body(ref))
        )
        return asked or self._launches.waits_between(ref, end, line)


def _stream(block: Block, place: tuple[int, int]) -> str:
    """The stream on which a record lands, as it is written."""
    for node in nodes(block):
        if type(node) is Call and (node.line, node.column) == place:
            given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.name == "stream")]
            if terminal(node.func) == "record_event" and type(node.func) is Attr:
                given = [node.func.value]
            if given and not text(given[0]).endswith("current_stream()"):
                return text(given[0])
    return _entered(block, place[0])


def _entered(block: Block, line: int) -> str:
    """The innermost stream that is entered around a line."""
    found = CURRENT
    for node in nodes(block):
        if type(node) is With and node.line < line <= node.end_line:
            for item in node.items:
                if type(item.context) is Call and terminal(item.context.func) in STREAM_CONTEXTS and item.context.args:
                    found = text(item.context.args[0])
    return found
