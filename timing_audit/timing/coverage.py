"""What the brackets of a hot path time: calls, stages, functions; one clock class at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from timing_audit.model.program import FunctionRef
from timing_audit.model.timing import Bracket, Clock
from timing_audit.program.hotpath import State
from timing_audit.timing.cycle import Cycle, Transition
from timing_audit.timing.regions import Statement, contains

CLOCKS = (Clock.HOST, Clock.DEVICE, Clock.TRACE)


class Scopes:
    """What a bracket of a function is around, asked for one state of that function."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle = cycle
        self._inner: dict[tuple[State, Bracket], tuple[Transition, ...]] = {}

    def inner(self, state: State, bracket: Bracket) -> tuple[Transition, ...]:
        """The calls inside the bracket."""
        key = (state, bracket)
        if key not in self._inner:
            self._inner[key] = tuple(
                t for t in self.cycle.out[state] if contains(bracket, t.edge.line, t.edge.end_line, t.edge.column)
            )
        return self._inner[key]

    def stages(self, state: State, bracket: Bracket) -> frozenset[str]:
        """The stages that calls inside the bracket enter, at any depth; for a state within a stage, its own too."""
        found: set[str] = set()
        for transition in self.inner(state, bracket):
            stage = transition.enters_stage or state.stage
            found |= {stage} if stage else self.cycle.stages_below.get(transition.target, frozenset())
        return frozenset(found)

    def is_cycle(self, state: State, bracket: Bracket) -> bool:
        """Whether the bracket is around the worker's whole call, or around more than one stage."""
        if state.stage:
            return False
        if any(t.enters_worker or t.target in self.cycle.reaches_worker for t in self.inner(state, bracket)):
            return True
        return len(self.stages(state, bracket)) > 1 or self._is_whole_worker(state, bracket)

    def _is_whole_worker(self, state: State, bracket: Bracket) -> bool:
        entered = any(t.enters_worker for t in self.cycle.into[state])
        rooted = state in self.cycle.path.entries and any(self.cycle.path.workers[state])
        return bracket.how == "decorator" and (entered or rooted)

    def times(self, transition: Transition, bracket: Bracket) -> bool:
        """Whether the bracket is around this call, and around the stage that it enters alone."""
        state = transition.caller
        edge = transition.edge
        if not contains(bracket, edge.line, edge.end_line, edge.column) or self.is_cycle(state, bracket):
            return False
        if not transition.enters_stage:
            return True
        return self.stages(state, bracket) == {transition.enters_stage}


class Reach:
    """Which states and calls run inside a bracket of one clock class, however far up the chain it stands."""

    def __init__(self, scopes: Scopes, brackets: Mapping[FunctionRef, Sequence[Bracket]], clock: Clock) -> None:
        self._scopes = scopes
        self._brackets = {
            ref: [bracket for bracket in found if bracket.clock is clock] for ref, found in brackets.items()
        }
        self.inside = self._fixpoint()

    def around(self, transition: Transition) -> list[Bracket]:
        """The brackets of the caller that time the call."""
        ref = transition.caller.frame.function
        found = self._brackets.get(ref) if ref is not None else None
        if not found:
            return []
        return [bracket for bracket in found if self._scopes.times(transition, bracket)]

    def is_timed(self, transition: Transition) -> bool:
        """Whether the call lies in a bracket: its caller's, or one around the caller, of the same stage."""
        if self.around(transition):
            return True
        same = not transition.enters_stage or not transition.caller.stage
        return same and transition.caller in self.inside

    def _fixpoint(self) -> set[State]:
        """The largest set of states all of whose calls are timed; entry points are in no bracket."""
        cycle = self._scopes.cycle
        self.inside = set(cycle.into) - set(cycle.path.entries)
        pending = [transition for transition in cycle.transitions if not self.is_timed(transition)]
        while pending:
            target = pending.pop().target
            if target in self.inside:
                self.inside.discard(target)
                pending += [t for t in cycle.out[target] if not self.is_timed(t)]
        return self.inside


def word(statements: Sequence[Statement], clock: Clock, states: Iterable[State], reach: Reach) -> str:
    """How a function is timed on one clock class, under some of its states."""
    timed = [statement.innermost[CLOCKS.index(clock)] is not None for statement in statements]
    if timed and all(timed):
        return "direct"
    inside = [state in reach.inside for state in states]
    if inside and all(inside):
        return "outside"
    return "partial" if any(timed) or any(inside) else "untimed"


def better(left: str, right: str) -> str:
    """The better of two words."""
    return min(left, right, key=("direct", "outside", "partial", "untimed", "excluded").index)
