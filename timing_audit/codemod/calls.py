"""The calls of a hot path that a probe may be put around, and which of them are timed already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from timing_audit.model.edit import CYCLE, FUNCTION, STAGE, HotCall
from timing_audit.model.pack import CallRule, Packs
from timing_audit.model.program import External, FunctionRef
from timing_audit.model.report import Timed
from timing_audit.model.syntax import Call
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.frontier import EXTERNAL, Frontier
from timing_audit.program.hotpath import State
from timing_audit.program.written import written
from timing_audit.timing.coverage import CLOCKS
from timing_audit.timing.cycle import Transition
from timing_audit.timing.describe import Describer, Facts, phases_of
from timing_audit.timing.regions import contains
from timing_audit.timing.stages import Stages

CAPTURED = "it also runs while a graph is captured, and its Python not at all when the graph is replayed"
TIMER = "it is part of a timer"
CALLER_OUTSIDE = "the worker's caller is not in the target"


class Place(NamedTuple):
    """Where a call stands, and in which function."""

    ref: FunctionRef
    line: int
    column: int
    end_line: int


class HotCalls:
    """Finds them in the facts of one audit; `loose` takes calls through unknown objects too."""

    def __init__(
        self, facts: Facts, describer: Describer, names: Evaluator, frontier: Frontier, packs: Packs, *, loose: bool
    ) -> None:
        self._facts = facts
        self._describer = describer
        self._names = names
        self._frontier = frontier
        self._packs = packs
        self._loose = loose
        self._stages = Stages(facts.cycle, facts.scopes, facts.reaches, facts.brackets, facts.statements)

    def found(self, detail: str) -> tuple[HotCall, ...]:
        """Cycle and stages; with detail `function`, every other call that may matter."""
        cycle = self._grouped(lambda t: t.worker)
        stages = self._grouped(lambda t: t.enters_stage)
        calls = [self._transition(CYCLE, place, found) for place, found in cycle.items()]
        calls += self._rooted() if not cycle else []
        calls += [self._transition(STAGE, place, found) for place, found in stages.items() if place not in cycle]
        if detail == FUNCTION:
            known = {(call.file, call.line, call.column) for call in calls}
            calls += [call for call in self._functions() if (call.file, call.line, call.column) not in known]
        return tuple(sorted(calls))

    def _grouped(self, key: Callable[[Transition], str]) -> dict[Place, list[Transition]]:
        found: dict[Place, list[Transition]] = {}
        for transition in self._facts.cycle.transitions:
            ref, edge = transition.caller.frame.function, transition.edge
            if ref is not None and key(transition):
                found.setdefault(Place(ref, edge.line, edge.column, edge.end_line), []).append(transition)
        return found

    def _transition(self, kind: str, place: Place, found: list[Transition]) -> HotCall:
        lead = min(found, key=lambda t: (t.caller.phase.name, t.enters_stage))
        timed = Timed(*(all(self._is_timed(kind, t, clock) for t in found) for clock in range(len(CLOCKS))))
        return HotCall(
            place.ref.path, place.line, place.column, place.end_line, kind, place.ref.qualname,
            phases_of(t.caller for t in found), "" if kind == CYCLE else lead.enters_stage, lead.edge.text,
            self._workers(kind, found), timed, self._refusal(place.ref),
        )  # fmt: skip

    def _workers(self, kind: str, found: list[Transition]) -> tuple[str, ...]:
        if kind == CYCLE:
            return tuple(sorted({t.worker for t in found}))
        return self._describer.workers([t.caller for t in found])

    def _is_timed(self, kind: str, transition: Transition, clock: int) -> bool:
        if kind == STAGE:
            return self._stages.is_timed(transition, clock)
        ref, edge = transition.caller.frame.function, transition.edge
        brackets = self._facts.brackets.get(ref, ()) if ref is not None else ()
        return any(b.clock is CLOCKS[clock] and contains(b, edge.line, edge.end_line, edge.column) for b in brackets)

    def _rooted(self) -> Iterator[HotCall]:
        """Workers whose caller is not in the target: their cycle is their body."""
        for state in dict.fromkeys(self._facts.cycle.path.entries):
            ref, workers = state.frame.function, tuple(sorted(self._facts.cycle.path.workers[state] - {""}))
            if ref is not None and workers:
                yield HotCall(
                    ref.path, ref.line, 1, ref.line, CYCLE, ref.qualname, (state.phase.name,), "", ref.qualname,
                    workers, Timed(False, False, False), CALLER_OUTSIDE,
                )  # fmt: skip

    def _functions(self) -> Iterator[HotCall]:
        for ref, states in self._facts.cycle.states.items():
            if not self._describer.is_excluded(ref) and not self._facts.library.is_behind(ref.path):
                yield from self._of_function(ref, states)

    def _of_function(self, ref: FunctionRef, states: list[State]) -> Iterator[HotCall]:
        places: dict[tuple[int, int], tuple[Call, list[State]]] = {}
        for state in states:
            for call in self._facts.reached.calls(state.frame, state.phase):
                if self._matters(state, call):
                    places.setdefault((call.line, call.column), (call, []))[1].append(state)
        for call, found in places.values():
            yield HotCall(
                ref.path, call.line, call.column, call.end_line, FUNCTION, ref.qualname, phases_of(found),
                next((s.stage for s in found if s.stage), ""), written(call.func), self._describer.workers(found),
                self._alone(ref, call), self._refusal(ref),
            )  # fmt: skip

    def _matters(self, state: State, call: Call) -> bool:
        """Whether the call leads into the tree, may do so, or replays a graph."""
        if self._frontier.judge(state.frame, call).kind != EXTERNAL:
            return True
        values = self._names.evaluate(state.frame, call.func)
        if not values:
            return self._loose
        rules = (self._packs.match_call(value.name) for value in values if isinstance(value, External))
        return any(isinstance(rule, CallRule) and rule.kind == "graph-replay" for rule in rules)

    def _alone(self, ref: FunctionRef, call: Call) -> Timed:
        """On which clocks a bracket times the call's statement and no other."""
        statements = self._facts.statements.get(ref, ())
        timed = []
        for clock in CLOCKS:
            around = [
                bracket
                for bracket in self._facts.brackets.get(ref, ())
                if bracket.clock is clock and contains(bracket, call.line, call.end_line, call.column)
            ]
            held = (sum(contains(bracket, *s.lines) for s in statements) for bracket in around)
            timed.append(any(count == 1 for count in held))
        return Timed(*timed)

    def _refusal(self, ref: FunctionRef) -> str:
        if self._facts.roles.is_captured(ref):
            return CAPTURED
        return TIMER if ref in self._facts.timers else ""


def under(workers: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether one of the wanted workers runs it; none wanted means all."""
    chosen = set(wanted)
    return not chosen or not chosen.isdisjoint(workers)
