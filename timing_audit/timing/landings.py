"""Where the calls of the hot path lead, counted by worker and phase; and the frontier, call by call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from timing_audit.model.program import FunctionRef
from timing_audit.model.report import FrontierFact
from timing_audit.model.syntax import Call
from timing_audit.program.frontier import EXTERNAL, FRONTIER, RESOLVED, Frontier, Verdict
from timing_audit.program.hotpath import State
from timing_audit.program.written import written
from timing_audit.timing.describe import in_order
from timing_audit.timing.reached import Reached

WORST = (FRONTIER, RESOLVED, EXTERNAL)


class Counts(NamedTuple):
    """Calls by where they lead."""

    resolved: int
    external: int
    frontier: int


class Landings:
    """The calls that states make, each place once: it is on the frontier if any way of coming there leaves it there."""

    def __init__(self, frontier: Frontier, reached: Reached) -> None:
        self._frontier = frontier
        self._reached = reached

    def counts(self, states: Iterable[State]) -> Counts:
        """How many calls of a function lead where, under some of its states."""
        found: dict[int, str] = {}
        for frame, phase in dict.fromkeys(self._reached.way(state.frame, state.phase) for state in states):
            for call in self._reached.calls(frame, phase):
                kind = self._frontier.judge(frame, call).kind
                found[id(call)] = worse(found.get(id(call), kind), kind)
        counted = Counter(found.values())
        return Counts(counted[RESOLVED], counted[EXTERNAL], counted[FRONTIER])

    def unresolved(
        self, states: Iterable[State], workers: Callable[[Iterable[State]], tuple[str, ...]]
    ) -> list[FrontierFact]:
        """The calls of these states that are on the frontier; `workers` names those of some states."""
        places: dict[tuple[FunctionRef, int], tuple[Call, Verdict, list[State]]] = {}
        for state in states:
            for call in self._reached.calls(state.frame, state.phase) if state.frame.function is not None else ():
                verdict = self._frontier.judge(state.frame, call)
                if verdict.kind == FRONTIER and state.frame.function is not None:
                    places.setdefault((state.frame.function, id(call)), (call, verdict, []))[2].append(state)
        return sorted(
            FrontierFact(
                ref.path, call.line, call.column, ref.qualname, written(call.func), verdict.reason,
                in_order(state.phase.name for state in found), workers(found),
            )
            for (ref, _), (call, verdict, found) in places.items()
        )  # fmt: skip


def worse(one: str, other: str) -> str:
    """Of two verdicts on one call, the one that claims less."""
    return min(one, other, key=WORST.index)
