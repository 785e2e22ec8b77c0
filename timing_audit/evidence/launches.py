"""Host clocks around work that is only launched on the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import Launch
from timing_audit.model.pack import CallRule, Packs, WrittenRule
from timing_audit.model.program import External, Frame, FunctionRef, FunctionValue
from timing_audit.model.syntax import Attr, Call, Const, Name, Subscript
from timing_audit.model.timing import BodyTiming, Bracket, Clock
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.scopes import nodes
from timing_audit.program.written import written
from timing_audit.timing.describe import Facts
from timing_audit.timing.regions import contains
from timing_audit.timing.walk import terminal

LAUNCHING = ("device-work", "graph-replay")
WAITING = ("synchronize", "event-synchronize")
DEEPEST = 12
REDUCING = ("sum", "max", "min", "mean", "any", "all", "argmax", "argmin", "prod", "norm")


class Work(NamedTuple):
    """What some calls do: whether the host `waits`, and the first of them that launches work."""

    waits: bool
    launch: str = ""
    line: int = 0
    named: bool = True


IDLE = Work(False)
WAITS = Work(True)


class Launches:
    """Judges what lies between the ends of host brackets."""

    def __init__(self, facts: Facts, names: Evaluator, packs: Packs, spots: Spots) -> None:
        self._facts = facts
        self._names = names
        self._packs = packs
        self._spots = spots
        written_rules = packs.select(WrittenRule)
        self._launch = [rule for rule in written_rules if rule.kind == "launch"]
        self._wait = [rule for rule in written_rules if rule.kind == "host-wait"]
        self._known: dict[Frame, Work] = {}

    def found(self) -> Iterator[Launch]:
        """The host brackets that time a launch only."""
        for body in self._facts.bodies.values():
            ref = body.function
            open_ = [bracket for bracket in body.brackets if self._may_lie(bracket)]
            if not open_ or ref is None or ref in self._facts.timers or self._facts.survey.is_timer(ref):
                continue
            for bracket in open_:
                yield from self._judged(ref, body, bracket)

    def _may_lie(self, bracket: Bracket) -> bool:
        return bracket.clock is Clock.HOST and bool(bracket.covers) and not bracket.synced[1] and not bracket.host_sync

    def _judged(self, ref: FunctionRef, body: BodyTiming, bracket: Bracket) -> Iterator[Launch]:
        work = IDLE
        for frame in self._frames(ref):
            inside = (call for call in self._calls(ref) if contains(bracket, call.line, call.end_line, call.column))
            work = self._of_calls(frame, inside, 0)
            if work.waits or work.launch:
                break
        if work.launch and not work.waits:
            spot = self._spots.of(ref, body.file, bracket.start_line, bracket.end_line)
            yield Launch(spot, work.launch, work.line, work.named)

    def waits_between(self, ref: FunctionRef, first: int, last: int) -> bool:
        """Whether the host may wait for the device on lines behind `first` and up to `last`."""
        calls = [call for call in self._calls(ref) if first < call.line <= last]
        return any(self._of_calls(frame, iter(calls), 0).waits for frame in self._frames(ref))

    def _frames(self, ref: FunctionRef) -> list[Frame]:
        states = self._facts.cycle.states.get(ref, ())
        known = list(dict.fromkeys(state.frame for state in states))
        return known or [self._names.frame_of(FunctionValue(ref, None, None))]

    def _calls(self, ref: FunctionRef) -> list[Call]:
        return [node for node in nodes(self._facts.library.body(ref)) if type(node) is Call]

    def _of_calls(self, frame: Frame, calls: Iterator[Call], depth: int) -> Work:
        """What a row of calls does; the first wait ends the search."""
        found = IDLE
        for call in calls:
            work = self._of_call(frame, call, depth)
            if work.waits:
                return WAITS
            found = work if work.launch and not found.launch else found
        return found

    def _of_call(self, frame: Frame, call: Call, depth: int) -> Work:
        callee = written(call.func)
        if self._reads_back(call) or any(rule.matches_call(callee) for rule in self._wait):
            return WAITS
        values = self._names.values(frame, call.func)
        for value in sorted(values, key=str):
            rule: CallRule | None = self._packs.match_call(value.name) if isinstance(value, External) else None
            if rule is not None and rule.kind in WAITING:
                return WAITS
            if rule is not None and rule.kind in LAUNCHING:
                return Work(False, callee, call.line, named=False)
        if self._is_kernel(frame, call):
            return Work(False, callee, call.line, named=False)
        return self._behind(frame, call, callee, depth)

    def _behind(self, frame: Frame, call: Call, callee: str, depth: int) -> Work:
        """What the bodies behind a call do; a name tells where there are none."""
        targets = self._names.calls.targets(frame, call) if depth < DEEPEST else []
        for target in targets:
            work = self._of_body(target.frame, depth + 1)
            if work.waits:
                return WAITS
            if work.launch:
                return Work(False, callee, call.line, named=work.named)
        named = not targets and any(rule.matches_call(callee) for rule in self._launch)
        return Work(False, callee, call.line) if named else IDLE

    def _of_body(self, frame: Frame, depth: int) -> Work:
        if frame not in self._known:
            self._known[frame] = IDLE
            ref = frame.function
            if ref is None or self._facts.library.is_leaf_path(ref.path):
                return IDLE
            self._known[frame] = self._of_calls(frame, iter(self._calls(ref)), depth)
        return self._known[frame]

    def _reads_back(self, call: Call) -> bool:
        """`x.to("cpu")` without `non_blocking=True`; `int(x[0])`, `float(x.max())`."""
        if type(call.func) is Name and call.func.id in ("int", "float", "bool") and call.args:
            read = call.args[0]
            return type(read) is Subscript or (type(read) is Call and terminal(read.func) in REDUCING)
        if type(call.func) is not Attr or call.func.name != "to" or not call.args:
            return False
        free = any(key.name == "non_blocking" and key.value == Const(True) for key in call.keywords)
        return call.args[0] == Const("cpu") and not free

    def _is_kernel(self, frame: Frame, call: Call) -> bool:
        """`kernel[grid](...)` of a kernel of the target."""
        if type(call.func) is not Subscript:
            return False
        values = self._names.values(frame, call.func.value)
        return any(isinstance(v, FunctionValue) and self._facts.roles.role(v.ref) == "kernel" for v in values)
