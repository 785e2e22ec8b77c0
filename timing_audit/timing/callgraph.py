"""The states and calls of the hot path as the nodes and calls of a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from timing_audit.model.graph import CallGraph, GraphCall, GraphNode, Launch, OffPath
from timing_audit.model.program import ClassRef, FunctionRef
from timing_audit.model.report import FunctionFact, Target
from timing_audit.program.hotpath import State
from timing_audit.timing.coverage import better
from timing_audit.timing.cycle import Transition
from timing_audit.timing.describe import Describer, Facts
from timing_audit.timing.summary import Summarizer

Key = tuple[FunctionRef, ClassRef | None, str, str]


class Grapher:
    """Builds the graph; states that differ in the batch's mode only are one node."""

    def __init__(self, facts: Facts, describer: Describer, summarizer: Summarizer) -> None:
        self._facts = facts
        self._describer = describer
        self._summarizer = summarizer
        self._states: dict[Key, list[State]] = {}
        for state in facts.cycle.path.steps:
            key = _key(state)
            if key is not None and facts.roles.role(key[0]) == "hot":
                self._states.setdefault(key, []).append(state)
        self._places = {key: place for place, key in enumerate(self._states)}

    def graph(self, target: Target, functions: tuple[FunctionFact, ...], incomplete: int) -> CallGraph:
        """The whole graph; `functions` are those of the audited files."""
        workers = [Launch(name, self._summarizer.launched_with(name)) for name in self._facts.cycle.workers]
        keys = dict.fromkeys(_key(state) for state in self._facts.cycle.path.entries)
        others = (f for f in functions if f.role != "hot")
        return CallGraph(
            target,
            tuple(workers),
            tuple(self._places[key] for key in keys if key is not None and key in self._places),
            tuple(self._node(key, states) for key, states in self._states.items()),
            tuple(OffPath(f.file, f.line, f.qualname, f.role, f.reason) for f in others),
            incomplete,
        )

    def _node(self, key: Key, states: list[State]) -> GraphNode:
        ref, receiver, phase, stage = key
        fact = self._describer.clocks(ref, states)[0]
        path = self._facts.cycle.path
        return GraphNode(
            ref.path, ref.line, ref.qualname, receiver.qualname if receiver is not None else "", phase,
            path.labels.get(ref) or stage, path.substages.get(states[0], ""), self._describer.workers(states),
            self._facts.roles.is_captured(ref), better(fact.host, fact.device), fact, self._calls(states),
        )  # fmt: skip

    def _calls(self, states: list[State]) -> tuple[GraphCall, ...]:
        found = {
            call: None for state in states for t in self._facts.cycle.out[state] if (call := self._call(t)) is not None
        }
        return tuple(sorted(found, key=lambda call: (call.line, call.column, call)))

    def _call(self, transition: Transition) -> GraphCall | None:
        key, edge = _key(transition.target), transition.edge
        place = None if key is None else self._places.get(key)
        if place is None:
            return None
        return GraphCall(
            place, edge.line, edge.column, edge.text, edge.how, edge.kind, edge.loops, transition.worker,
            transition.enters_stage,
        )  # fmt: skip


def _key(state: State) -> Key | None:
    ref = state.frame.function
    return None if ref is None else (ref, state.frame.receiver, state.phase.name, state.stage)


def part_of(graph: CallGraph, workers: Collection[str], phases: Collection[str]) -> CallGraph:
    """The nodes of some phases and workers (none stands for all), with the calls between them."""
    kept = [
        place
        for place, node in enumerate(graph.nodes)
        if node.phase in phases and (not workers or not set(workers).isdisjoint(node.workers))
    ]
    moved = {place: number for number, place in enumerate(kept)}
    return graph._replace(
        workers=tuple(launch for launch in graph.workers if not workers or launch.worker in workers),
        roots=tuple(moved[place] for place in graph.roots if place in moved),
        nodes=tuple(_with_calls(graph.nodes[place], moved) for place in kept),
    )


def _with_calls(node: GraphNode, moved: Mapping[int, int]) -> GraphNode:
    return node._replace(calls=tuple(call._replace(to=moved[call.to]) for call in node.calls if call.to in moved))
