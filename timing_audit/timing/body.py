"""The timing of one body in plain facts: sites, brackets, faults."""

from __future__ import annotations

from timing_audit.model.program import Frame, FunctionRef
from timing_audit.model.syntax import Block, Call, Const, Evaluate, Expr, Function, If, Name, Stmt
from timing_audit.model.timing import (
    BodyTiming, Bracket, Clock, Kept, MixedClocks, Purpose, Site, Sync, Unpaired,
)  # fmt: skip
from timing_audit.timing.decorators import Decorated
from timing_audit.timing.facts import Effect, Facts, Read, SiteFact, Timed
from timing_audit.timing.flow import Flow
from timing_audit.timing.gates import Gates, gate_text
from timing_audit.timing.positions import Position, Range, ranges
from timing_audit.timing.substitute import substitute
from timing_audit.timing.walk import text
from timing_audit.timing.wrappers import Wrappers, covered

SELF = "self"
CLOSING = ("read", "call", "event")


class Body:
    """Turns the facts of one body into the facts of the model."""

    def __init__(self, frame: Frame, function: Function | None, facts: Facts, flow: Flow, wrappers: Wrappers) -> None:
        self.file = frame.path
        self.frame = frame
        self.ref: FunctionRef | None = frame.function
        self.function = function
        self.facts = facts
        self.flow = flow
        self.wrappers = wrappers
        self.gates: Gates = wrappers.gates
        self.syncs = facts.syncs | facts.waits

    def timing(self, decorated: list[Decorated]) -> BodyTiming:
        """Everything about the body; `decorated` are the timers among its decorators."""
        brackets = [self._bracket(timed) for timed in _one_per_clock(self.facts.timed)]
        brackets += [self._whole(use) for use in decorated]
        brackets.sort(key=lambda bracket: (bracket.start_line, -bracket.end_line, bracket.clock.value))
        sites = {(site.line, site.column, site.kind): site for site in self._sites(decorated)}
        return BodyTiming(
            self.file, self.ref, tuple(sites[key] for key in sorted(sites)), tuple(brackets), self._unpaired(),
            tuple(self._mixed(start, end) for start, end in self.facts.mixed), self._syncs(brackets),
            self._kept(self.facts.summary.opens), self._kept(self.facts.summary.closes), self._loads(),
            self.facts.elapsed,
        )  # fmt: skip

    # Sites.

    def _sites(self, decorated: list[Decorated]) -> list[Site]:
        found = [self._site(fact) for fact in self.facts.sites]
        found += [self._pair_site(*call) for call in self.facts.calls if self._is_timer_call(*call)]
        for use in decorated:
            measure = use.measure
            hops, gate = measure.hops, gate_text(measure.gates)
            found.append(
                Site(
                    self.file, use.line, use.column, use.kind, Purpose.TIMING, self.ref, measure.rule, hops, gate,
                    use.label,
                )
            )  # fmt: skip
        return found

    def _site(self, fact: SiteFact) -> Site:
        hops = fact.measure.hops if fact.measure is not None else ()
        gate = gate_text(fact.measure.gates) if fact.measure is not None else ""
        return Site(
            self.file, fact.line, fact.column, fact.kind, fact.purpose, self.ref, fact.rule, hops, gate, fact.label
        )

    def _is_timer_call(self, line: int, column: int, ref: FunctionRef, label: str) -> bool:
        """Whether a call that leaves or takes a start is one end of a timer, and no mere note of the time."""
        ends = {(timed.start.line, timed.start.column) for timed in self.facts.timed if timed.how == "call"}
        ends |= {(timed.end_line, timed.end_column) for timed in self.facts.timed if timed.how == "call"}
        lonely = {(read.line, read.column) for read in self.facts.lonely}
        return (line, column) in ends | lonely or self.wrappers.starts.has_partner(ref)

    def _pair_site(self, line: int, column: int, ref: FunctionRef, label: str) -> Site:
        measure = self.wrappers.starts.primary(ref)
        kind = "device_timer" if measure is not None and measure.clock is Clock.DEVICE else "wrapper_use"
        hops = measure.hops if measure is not None else ()
        gate = gate_text(measure.gates) if measure is not None else ""
        return Site(self.file, line, column, kind, Purpose.TIMING, self.ref, "", hops, gate, label)

    # Brackets.

    def _bracket(self, timed: Timed) -> Bracket:
        statements = covered(self.flow, timed)
        closed = self._trim(statements) if timed.how in CLOSING else False
        covers = self._covers(timed, statements)
        own = self._own_gates(timed)
        gates = (*own, *(gate for gate in self.gates.all_of(self.frame, list(timed.measure.gates)) if gate not in own))
        synced = (self._synced_before(timed) or timed.synced[0], closed or timed.synced[1] or self._ready(timed))
        return Bracket(
            self.file, timed.start.line, timed.end_line, timed.measure.clock, self.ref, timed.label,
            timed.measure.rule, timed.measure.family, covers, timed.measure.hops, gate_text(gates), timed.how,
            bool(own), timed.items, synced, self._holds_sync(covers),
        )  # fmt: skip

    def _covers(self, timed: Timed, statements: list[Stmt]) -> tuple[Range, ...]:
        if timed.how == "callable":
            return ((timed.start.line, timed.end_line),)
        last = max([timed.start.line, *(line for line, _ in timed.items if line == timed.start.line)])
        items = [Evaluate(Const(None), "", line, line) for line, _ in timed.items if line > last]
        return ranges([*items, *statements])

    def _trim(self, statements: list[Stmt]) -> bool:
        """Drops the synchronisations that close a measurement; true when there were some."""
        closed = False
        while statements and self._is_sync(statements[-1]):
            statements.pop()
            closed = True
        return closed

    def _is_sync(self, stmt: Stmt) -> bool:
        if type(stmt) is If:
            return bool(stmt.body) and not stmt.orelse and all(map(self._is_sync, stmt.body))
        return type(stmt) is Evaluate and type(stmt.value) is Call and stmt.line in self.syncs

    def _synced_before(self, timed: Timed) -> bool:
        position = timed.start.position
        if timed.how not in CLOSING or not position:
            return False
        block, index = self.flow.tree.block(position, len(position) - 1), position[-1].at
        return index > 0 and self._is_sync(block[index - 1])

    def _ready(self, timed: Timed) -> bool:
        """Whether something waits for an event, or asks for it, between its record and its reading."""
        return any(timed.end_line < line <= timed.read_line for line in self.syncs | self.facts.queries)

    def _own_gates(self, timed: Timed) -> tuple[Expr, ...]:
        """The flags that the start stands under and the measured code does not."""
        start = timed.start.position
        end = start if timed.how in ("span", "callable") else timed.end
        around = [
            (depth, stmt.test)
            for depth, (stmt, branch) in enumerate(self.flow.tree.ancestors(start), start=1)
            if type(stmt) is If and branch == "body"
        ]
        return self.gates.all_of(
            self.frame,
            [test for depth, test in around if not _encloses(start, depth, end) or self._asks_profiler(test)],
        )

    def _asks_profiler(self, test: Expr) -> bool:
        settled = self.gates.settle(self.frame, test)
        return type(settled) is Const and isinstance(settled.value, str)

    def _holds_sync(self, covers: tuple[Range, ...]) -> bool:
        return any(start <= line <= end for line in self.syncs for start, end in covers)

    def _whole(self, use: Decorated) -> Bracket:
        function = self.function
        end = function.end_line if function is not None else use.line
        covers = ranges(_code(self.flow.tree.root)) if use.covers else ()
        measure = use.measure
        return Bracket(
            self.file, use.line, end, measure.clock, self.ref, use.label, measure.rule, measure.family, covers,
            measure.hops, gate_text(measure.gates), "decorator", False, (), use.synced, self._holds_sync(covers),
        )  # fmt: skip

    # Faults.

    def _unpaired(self) -> tuple[Unpaired, ...]:
        found = [self._lonely(read) for read in self.facts.lonely]
        found += [
            Unpaired(self.file, read.line, "end", self.ref, 0, "ends a range that nothing here opened")
            for read in self.facts.ends
        ]
        found += [
            Unpaired(
                self.file, exit_.line, "exit", self.ref, exit_.start.line,
                f"{exit_.kind} skips the end of the measurement that starts on line {exit_.start.line}",
            )
            for exit_ in self.facts.exits
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda fault: (fault.line, fault.related_line)))

    def _lonely(self, read: Read) -> Unpaired:
        label = f" ({read.label!r})" if read.label else ""
        return Unpaired(self.file, read.line, "start", self.ref, 0, f"nothing ends what starts here{label}")

    def _mixed(self, start: Read, end: Read) -> MixedClocks:
        return MixedClocks(self.file, start.line, end.line, start.measure.family, end.measure.family, self.ref)

    def _syncs(self, brackets: list[Bracket]) -> tuple[Sync, ...]:
        found = []
        for line in sorted(self.syncs):
            target = "device" if line in self.facts.syncs else "event"
            found.append(Sync(self.file, line, target, self.ref, self._timer_of(line, brackets)))
        return tuple(found)

    def _timer_of(self, line: int, brackets: list[Bracket]) -> int:
        """The bracket that a synchronisation opens or closes."""
        for bracket in brackets:
            inside = any(start <= line <= end for start, end in bracket.covers)
            if bracket.synced[1] and not inside and bracket.start_line < line <= bracket.end_line:
                return bracket.start_line
        for timed in self.facts.timed:
            if timed.end_line < line <= timed.read_line:
                return timed.start.line
        for bracket in brackets:
            if bracket.synced[0] and line == max((s for s in self.syncs if s <= bracket.start_line), default=0):
                return bracket.start_line
        return 0

    # For the class.

    def _kept(self, effects: tuple[Effect, ...]) -> tuple[Kept, ...]:
        found = []
        for effect in effects:
            place = self._on_self(text(substitute(effect.place, self._renamed())))
            if place and not effect.param:
                measure = effect.measure
                kept = Kept(place, effect.line, measure.clock, measure.family, measure.rule, measure.hops)
                found.append(kept)
        return tuple(found)

    def _renamed(self) -> dict[str, Name]:
        receiver = self.flow.places.receiver
        return {receiver: Name(SELF)} if receiver else {}

    def _on_self(self, place: str) -> str:
        return place if place.startswith(SELF + ".") and self.frame.receiver is not None else ""

    def _loads(self) -> frozenset[str]:
        receiver = self.flow.places.receiver
        return frozenset(
            SELF + load[len(receiver) :] for load in self.facts.loads if receiver and load.startswith(receiver + ".")
        )


def _one_per_clock(found: tuple[Timed, ...]) -> list[Timed]:
    """A wrapper may open several ranges on one clock: the use of it is one bracket."""
    best: dict[tuple[object, ...], Timed] = {}
    for timed in found:
        start, whole = timed.start, timed.how in ("span", "enter", "callable")
        end = () if whole else (timed.end_line, timed.end_column, timed.measure.family)
        key = (timed.how, start.line, start.column, timed.measure.clock, *end)
        if key not in best or len(timed.measure.gates) < len(best[key].measure.gates):
            best[key] = timed
    return list(best.values())


def _encloses(start: Position, depth: int, end: Position) -> bool:
    """Whether the branch around `start` at a depth holds `end` too."""
    return len(end) > depth and start[:depth] == end[:depth] and start[depth].branch == end[depth].branch


def _code(block: Block) -> list[Stmt]:
    """The statements behind a docstring."""
    first = block[0] if block else None
    if type(first) is Evaluate and type(first.value) is Const and isinstance(first.value.value, str):
        return list(block[1:])
    return list(block)
