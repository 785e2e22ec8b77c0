"""The stages of each worker, and whether they are timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from timing_audit.model.program import FunctionRef
from timing_audit.model.timing import Bracket
from timing_audit.program.hotpath import State
from timing_audit.timing.coverage import CLOCKS, Reach, Scopes
from timing_audit.timing.cycle import Cycle, Transition
from timing_audit.timing.regions import Statement


class Place(NamedTuple):
    """Where a call stands."""

    file: str
    line: int
    column: int


class StageCoverage(NamedTuple):
    """One stage of a worker in a phase: the calls that enter it, and by clock the places of those that are timed."""

    stage: str
    calls: tuple[Place, ...]
    timed_calls: tuple[frozenset[Place], ...]
    timers: tuple[Bracket, ...]
    inside: tuple[Bracket, ...]


class Stages:
    """Answers for one worker and phase at a time."""

    def __init__(
        self, cycle: Cycle, scopes: Scopes, reaches: Sequence[Reach],
        brackets: Mapping[FunctionRef, Sequence[Bracket]], statements: Mapping[FunctionRef, Sequence[Statement]],
    ) -> None:  # fmt: skip
        self._cycle = cycle
        self._scopes = scopes
        self._reaches = reaches
        self._brackets = brackets
        self._statements = statements
        self._entering: dict[tuple[str, str], dict[str, list[Transition]]] = {}
        for transition in cycle.transitions:
            if transition.enters_stage:
                for worker in cycle.path.workers[transition.caller]:
                    key = (worker, transition.target.phase.name)
                    self._entering.setdefault(key, {}).setdefault(transition.enters_stage, []).append(transition)

    def of(self, worker: str, phase: str) -> list[StageCoverage]:
        """The stages that the worker's code enters in the phase, in the order of the search."""
        entering = self._entering.get((worker, phase), {})
        return [self._stage(worker, phase, stage, transitions) for stage, transitions in entering.items()]

    def cycle_brackets(self, states: Sequence[State]) -> list[Bracket]:
        """The brackets around the worker's whole call or around more than one stage."""
        found: dict[Bracket, None] = {}
        for state in states:
            for bracket in self._of(state):
                if bracket.covers and self._scopes.is_cycle(state, bracket):
                    found[bracket] = None
        return list(found)

    def _of(self, state: State) -> Sequence[Bracket]:
        return () if state.frame.function is None else self._brackets.get(state.frame.function, ())

    def _stage(self, worker: str, phase: str, stage: str, entering: Sequence[Transition]) -> StageCoverage:
        timed = tuple(self._timed_places(entering, clock) for clock in range(len(CLOCKS)))
        timers = {bracket: None for transition in entering for bracket in self._timers(transition)}
        inside = self._inside(worker, phase, stage)
        deeper = tuple(bracket for bracket in inside if bracket not in timers)
        return StageCoverage(stage, _places(entering), timed, tuple(timers), deeper)

    def _timed_places(self, entering: Sequence[Transition], clock: int) -> frozenset[Place]:
        """A place is timed when every way of making the call there is."""
        untimed = {_place(transition) for transition in entering if not self.is_timed(transition, clock)}
        return frozenset(_places(entering)) - untimed

    def is_timed(self, transition: Transition, clock: int) -> bool:
        """Whether a bracket of this clock class times the call, or all of what it enters."""
        return self._reaches[clock].is_timed(transition) or bool(self._whole(transition.target, clock))

    def _whole(self, state: State, clock: int) -> tuple[Bracket, ...]:
        """The brackets that together time every statement of the function that the call runs."""
        ref = state.frame.function
        places = [statement.innermost[clock] for statement in self._statements.get(ref, ())] if ref else []
        if not places or any(place is None for place in places) or ref is None:
            return ()
        return tuple(self._brackets[ref][place] for place in sorted({p for p in places if p is not None}))

    def _timers(self, transition: Transition) -> list[Bracket]:
        found: list[Bracket] = []
        for clock, reach in enumerate(self._reaches):
            found += reach.around(transition)
            found += self._whole(transition.target, clock)
        return found

    def _inside(self, worker: str, phase: str, stage: str) -> list[Bracket]:
        found: dict[Bracket, None] = {}
        for ref in self._brackets:
            for state in self._cycle.states[ref]:
                if (state.phase.name, state.stage) == (phase, stage) and worker in self._cycle.path.workers[state]:
                    found.update(dict.fromkeys(bracket for bracket in self._of(state) if bracket.covers))
        return sorted(found, key=lambda bracket: (bracket.file, bracket.start_line, bracket.clock.value))


def _place(transition: Transition) -> Place:
    return Place(transition.caller.frame.path, transition.edge.line, transition.edge.column)


def _places(transitions: Sequence[Transition]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(map(_place, transitions)))
