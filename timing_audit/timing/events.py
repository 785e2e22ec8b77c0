"""Device events: recorded, read, waited for."""

from __future__ import annotations

from collections.abc import Callable

from timing_audit.model.syntax import Call, Expr
from timing_audit.model.timing import Clock, Elapsed, Purpose
from timing_audit.timing.evaluate import Expressions
from timing_audit.timing.facts import NOTHING, DeviceMark, Event, Measure, Read, SiteFact, Timed, Val


class EventEffects:
    """What calls on events do, and how any call notes a site or a read."""

    def __init__(self, expressions: Expressions) -> None:
        self.on = expressions
        self.found = expressions.found
        self.kept: Callable[[Expr], Val] = lambda expr: NOTHING

    def arguments(self, call: Call) -> list[Val]:
        """The values of a call's arguments, which count as used."""
        values = [self.on.value(arg) for arg in call.args]
        values += [self.on.value(keyword.value) for keyword in call.keywords]
        for value in values:
            self.on.use(value)
        return values

    def site(
        self, call: Call, kind: str, purpose: Purpose, rule: str, measure: Measure | None = None, label: str = ""
    ) -> None:
        """Notes a site at a call."""
        fact = SiteFact(call.line, call.column, kind, purpose, rule, measure, label)
        self.found.sites[call.line, call.column, kind] = fact

    def read(self, call: Call, measure: Measure, label: str = "", primitive: str = "") -> Read:
        """A start or an end at a call."""
        return Read(call.line, call.column, self.on.position, measure, label=label, primitive=primitive)

    def _record(self, call: Call, receiver: Val) -> Val:
        self.arguments(call)
        timing = any(event.timing for event in receiver.events)
        self.site(call, "cuda_event_record", Purpose.TIMING if timing else Purpose.ORDERING, "")
        read = self.read(call, Measure(Clock.DEVICE, "", "", (), ()), primitive="event record")
        for event in receiver.events:
            self.on.state.records[event] = frozenset((read,))
            if event.timing:
                self.found.marks[call.line, call.column] = DeviceMark("", read, event)
        return NOTHING

    def _elapsed(self, call: Call, receiver: Val) -> Val:
        values = self.arguments(call)
        self.site(call, "cuda_event_elapsed", Purpose.TIMING, "")
        ends = [event for value in values[:1] for event in value.events]
        if not ends and call.args:
            ends = sorted(self.kept(call.args[0]).events, key=str)
        for start in sorted(receiver.events, key=str):
            for end in sorted(ends, key=str):
                self._elapsed_between(start, end, call.line)
        return Val(duration=True)

    def _elapsed_between(self, start: Event, end: Event, line: int) -> None:
        records = self.on.state.records
        self._read_at(line, start, end)
        for opening in records.get(start, ()):
            for closing in records.get(end, ()):
                self.found.time(
                    Timed(
                        "event", opening, closing.line, closing.column, closing.position, opening.measure, "",
                        read_line=line,
                    )
                )  # fmt: skip

    def _read_at(self, line: int, start: Event, end: Event) -> None:
        records, timing = self.on.state.records, (start.timing, end.timing)
        for opening in records.get(start, ()) or (None,):
            for closing in records.get(end, ()) or (None,):
                reading = Elapsed(line, _place(opening), _place(closing), timing)
                self.found.readings[reading] = None

    def _wait_event(self, call: Call, receiver: Val) -> Val:
        self.arguments(call)
        self.site(call, "synchronize", Purpose.SYNC, "")
        self.found.waits.add(call.line)
        return NOTHING

    def _query(self, call: Call, receiver: Val) -> Val:
        self.arguments(call)
        self.found.queries.add(call.line)
        return NOTHING


def _place(record: Read | None) -> tuple[int, int]:
    return (record.line, record.column) if record is not None else (0, 0)


EVENTS: dict[str, Callable[[EventEffects, Call, Val], Val]] = {
    "event-record": EventEffects._record,
    "event-elapsed": EventEffects._elapsed,
    "event-query": EventEffects._query,
    "event-synchronize": EventEffects._wait_event,
}
