"""What a run found, put in order: event records paired, starts without an end, exits that skip one."""

from __future__ import annotations

import re
from collections.abc import Callable

from timing_audit.model.program import Frame
from timing_audit.model.syntax import Block, Function
from timing_audit.model.timing import Clock
from timing_audit.timing.calls import Calls, Inference
from timing_audit.timing.facts import DeviceMark, Effect, Exit, Facts, Read, Summary, Timed, Val
from timing_audit.timing.flow import Flow
from timing_audit.timing.state import Found
from timing_audit.timing.substitute import GLOBAL


RANGE = "range "


class Roles:
    """Which kept events are starts and which are ends, by the names they go under where they are read."""

    def __init__(self, starts: frozenset[str], ends: frozenset[str]) -> None:
        self.starts = starts
        self.ends = ends

    def of(self, names: set[str]) -> str:
        """What the names of an event say it is: `start`, `end` or nothing."""
        if names & self.starts and not names & self.ends:
            return "start"
        return "end" if names & self.ends and not names & self.starts else ""


def run(
    frame: Frame, function: Function | None, block: Block, calls: Calls, inference: Inference,
    roles: Callable[[], Roles],
) -> tuple[Facts, Flow]:  # fmt: skip
    """The facts of one body, and the run behind them; `roles` are those of its class's events."""
    flow = Flow(frame, function, block, calls, inference)
    found = flow.run()
    marks = _device(found, roles()) if found.marks else ()
    facts = Facts(
        sites=tuple(found.sites[key] for key in sorted(found.sites)),
        timed=tuple(found.timed[key] for key in sorted(found.timed)),
        exits=_exits(found),
        lonely=_lonely(found, flow),
        ends=tuple(
            found.lonely_ends[key] for key in sorted(found.lonely_ends) if found.lonely_ends[key].label in found.pushed
        ),
        summary=Summary(_effects(found.opens), _effects(found.closes), marks),
        loads=frozenset(found.loads),
        returned=tuple(found.returned),
        returned_exprs=tuple(found.returns[line][0] for line in sorted(found.returns)),
        others=tuple(found.others.values()),
        syncs=frozenset(found.syncs),
        waits=frozenset(found.waits),
        queries=frozenset(found.queries),
        mixed=tuple(found.mixed[key] for key in sorted(found.mixed)),
        calls=tuple(found.calls[key] for key in sorted(found.calls)),
        elapsed=tuple(sorted(found.readings, key=lambda reading: reading[:3])),
        given=_given(found),
    )
    return facts, flow


def _given(found: Found) -> tuple[Read, ...]:
    """The instants that a body gives back, where it gives nothing else."""
    values = [value for _, value in found.returns.values()]
    if not values or not all(_is_instant(value) for value in values):
        return ()
    return tuple(sorted({read for value in values for read in value.plus}, key=lambda read: (read.line, read.column)))


def _is_instant(value: Val) -> bool:
    plain = all(read.source == "read" and not read.shifted for read in value.plus)
    return bool(value.plus) and plain and not value.minus and not value.duration


def _effects(effects: dict[tuple[str, int, str], Effect]) -> tuple[Effect, ...]:
    return tuple(effects[key] for key in sorted(effects))


def _device(found: Found, roles: Roles) -> tuple[DeviceMark, ...]:
    """Pairs recorded timing events that nothing here reads, by nesting; gives back those without a partner."""
    open_marks: list[DeviceMark] = []
    left: list[DeviceMark] = []
    read = {place for reading in found.readings for place in (reading.start, reading.end)}
    for key in sorted(found.marks):
        mark = found.marks[key]
        if (mark.read.line, mark.read.column) in read:
            continue
        role = mark.role or roles.of(found.event_names.get(mark.event.key, set()) | {_last(mark.event.key)})
        if role == "start" or (not role and not open_marks):
            open_marks.append(mark._replace(role=role))
        elif open_marks:
            _pair(found, open_marks.pop().read, mark.read)
        else:
            left.append(mark._replace(role=role))
    return (*left, *open_marks)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _pair(found: Found, start: Read, end: Read) -> None:
    measure = start.measure._replace(hops=start.measure.hops or end.measure.hops)
    how = "call" if measure.hops else "event"
    found.time(Timed(how, start, end.line, end.column, end.position, measure, start.label or end.label))


def _exits(found: Found) -> tuple[Exit, ...]:
    """Exits between a start and the last end that it has."""
    ends: dict[tuple[int, int], int] = {}
    for timed in found.timed.values():
        start = (timed.start.line, timed.start.column)
        ends[start] = max(ends.get(start, 0), timed.end_line)
    return tuple(
        found.exits[key]
        for key in sorted(found.exits)
        if key[1] < ends.get((found.exits[key].start.line, found.exits[key].start.column), 0)
    )


def _lonely(found: Found, flow: Flow) -> tuple[Read, ...]:
    """Starts that are bound to a name or opened by a call, and that nothing ever uses."""
    kept = {
        (_root(key), read)
        for read, key in found.bound.items()
        if _ends_here(key, found) and not _on_another(key, read, found)
    }
    done = {(read.line, read.column) for read in found.paired} | {
        (read.line, read.column) for read in found.used if read.source == "read" and not read.measure.hops
    }
    return tuple(
        sorted(
            (
                read
                for root, read in kept
                if (read.line, read.column) not in done
                and read.measure.clock is not Clock.DEVICE
                and (root not in flow.places.params or read.measure.hops == ())
                and not _for_the_class(root, read, flow)
            ),
            key=lambda read: (read.line, read.column),
        )
    )


def _ends_here(key: str, found: Found) -> bool:
    """Ranges may be opened and closed in different functions: only where one body does both is it an error."""
    return not key.startswith(RANGE) or key[len(RANGE) :] in found.popped


def _on_another(key: str, read: Read, found: Found) -> bool:
    """Whether an instant is left in an attribute of some object: a time stamp, whoever reads it."""
    place = key.rpartition(GLOBAL)[2]
    return not key.startswith(RANGE) and not read.measure.hops and "." in place and not place.startswith("self.")


def _root(key: str) -> str:
    """The name that a place starts with; that of a global keeps its file."""
    path, mark, name = key.rpartition(GLOBAL)
    return path + mark + re.split(r"[.\[(]", name, maxsplit=1)[0]


def _for_the_class(root: str, read: Read, flow: Flow) -> bool:
    """What is kept in an attribute, a parameter or a module's name is judged where all its users are known."""
    if read.measure.hops:
        pairs = {timed.measure.hops[:1] for timed in flow.found.timed.values() if timed.how == "call"}
        known = (read.line, read.column) in flow.found.accumulating or read.measure.hops[:1] in pairs
        return root in flow.places.params or not known
    return root in flow.places.params or GLOBAL in root
