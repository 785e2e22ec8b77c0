"""The hot path as a graph of states: every transition, and what lies below each state."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from timing_audit.model.program import FunctionRef
from timing_audit.program.hotpath import Explorer, HotPath, State
from timing_audit.program.walk import Edge


class Transition(NamedTuple):
    """A call, under one phase and stage, and what it leads to; `worker` is the one that it enters, if any."""

    caller: State
    edge: Edge
    target: State
    worker: str

    @property
    def enters_stage(self) -> str:
        """The stage that the call enters, empty where it stays in its caller's."""
        return self.target.stage if self.target.stage != self.caller.stage else ""

    @property
    def enters_worker(self) -> bool:
        """Whether this is the engine's call of a worker."""
        return bool(self.worker)


class Cycle:
    """All states and transitions. States keep the order of the search: the shortest chains come first."""

    def __init__(self, path: HotPath, transitions: list[Transition]) -> None:
        self.path = path
        self.transitions = transitions
        self.out: dict[State, list[Transition]] = defaultdict(list)
        self.into: dict[State, list[Transition]] = defaultdict(list)
        for transition in transitions:
            self.out[transition.caller].append(transition)
            self.into[transition.target].append(transition)
        self.states: dict[FunctionRef, list[State]] = defaultdict(list)
        for state in path.steps:
            if state.frame.function is not None:
                self.states[state.frame.function].append(state)
        self.stages_below = self._stages_below()
        self.reaches_worker = self._reaches_worker()

    @property
    def workers(self) -> list[str]:
        """Every worker that the path enters."""
        return sorted({worker for found in self.path.workers.values() for worker in found if worker})

    def _stages_below(self) -> dict[State, frozenset[str]]:
        """For states outside all stages: the stages that calls from there on enter."""
        below: dict[State, frozenset[str]] = {}
        pending = [t for t in self.transitions if not t.caller.stage and t.target.stage]
        while pending:
            transition = pending.pop()
            target = transition.target
            found = frozenset((target.stage,)) if target.stage else below.get(target, frozenset())
            known = below.get(transition.caller, frozenset())
            if not found <= known:
                below[transition.caller] = known | found
                pending += [t for t in self.into[transition.caller] if not t.caller.stage]
        return below

    def _reaches_worker(self) -> frozenset[State]:
        found: set[State] = set()
        pending = [t.caller for t in self.transitions if t.enters_worker]
        while pending:
            state = pending.pop()
            if state not in found:
                found.add(state)
                pending += [t.caller for t in self.into[state]]
        return frozenset(found)


def read_cycle(explorer: Explorer, path: HotPath) -> Cycle:
    """Asks for every transition between the states of the path."""
    transitions = [
        Transition(state, edge, target, explorer.worker(state.frame, edge))
        for state in path.steps
        for edge, target in explorer.successors(state)
        if target in path.steps
    ]
    return Cycle(path, transitions)
