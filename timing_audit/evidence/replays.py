"""Replays of recorded graphs on the hot path, and which of them a device timer covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import Replay
from timing_audit.model.pack import CallRule, Packs
from timing_audit.model.program import External, FunctionRef, FunctionValue
from timing_audit.model.syntax import Attr, Call
from timing_audit.model.timing import Clock
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.hotpath import State
from timing_audit.program.scopes import nodes
from timing_audit.program.written import written
from timing_audit.timing.coverage import CLOCKS
from timing_audit.timing.cycle import Transition
from timing_audit.timing.describe import Facts
from timing_audit.timing.regions import contains

REPLAY = "graph-replay"
MOST_SIBLINGS = 3


class Way(NamedTuple):
    """A call that leads to a replay, from one state of its caller."""

    state: State
    ref: FunctionRef
    line: int
    end_line: int
    column: int
    text: str
    timed: bool


class Uncovered(NamedTuple):
    """A call without a device timer, and siblings that have one."""

    way: Way
    covered: tuple[str, ...]


class Replays:
    """Walks from the replays towards the callers, as far as some of them are covered and some are not."""

    def __init__(self, facts: Facts, names: Evaluator, packs: Packs, spots: Spots) -> None:
        self._facts = facts
        self._names = names
        self._packs = packs
        self._spots = spots
        self._device = facts.reaches[CLOCKS.index(Clock.DEVICE)]
        rules = [rule for rule in packs.select(CallRule) if rule.kind == REPLAY]
        self._methods = frozenset(name.rpartition(".")[2] for rule in rules for name in rule.calls)
        self._calls: dict[FunctionRef, list[Call]] = {}
        self._asked: dict[State, list[Uncovered]] = {}

    def found(self) -> Iterator[Replay]:
        """The replays without a device timer that have siblings with one."""
        told: dict[tuple[str, int], Replay] = {}
        for way, covered in self._uncovered(list(self._ends())):
            spot = self._spots.of(way.ref, way.ref.path, way.line, way.end_line)
            told.setdefault((spot.file, spot.line), Replay(spot, way.text, covered))
        yield from (told[place] for place in sorted(told))

    def ending(self) -> set[State]:
        """The states whose bodies replay a graph themselves."""
        return {way.state for way in self._ends()}

    def _uncovered(self, ways: Sequence[Way]) -> list[Uncovered]:
        """The uncovered ones of some sibling calls, taken back to where siblings part."""
        covered = tuple(dict.fromkeys(_place(way) for way in ways if way.timed))
        found: list[Uncovered] = []
        for way in ways:
            if not way.timed:
                above = self._above(way.state)
                found += above or ([Uncovered(way, covered[:MOST_SIBLINGS])] if covered else [])
        return found

    def _above(self, state: State) -> list[Uncovered]:
        """What is uncovered among the calls of a state; each state is asked once."""
        if state not in self._asked:
            self._asked[state] = []
            ways = map(self._way, self._facts.cycle.into[state])
            self._asked[state] = self._uncovered([way for way in ways if way is not None])
        return self._asked[state]

    def _way(self, transition: Transition) -> Way | None:
        ref, edge = transition.caller.frame.function, transition.edge
        if ref is None:
            return None
        timed = self._device.is_timed(transition)
        return Way(transition.caller, ref, edge.line, edge.end_line, edge.column, edge.text, timed)

    def _ends(self) -> Iterator[Way]:
        """The replays themselves: calls of `replay` that lead out of the tree."""
        for ref, states in self._facts.cycle.states.items():
            if self._facts.roles.role(ref) != "hot" or ref in self._facts.timers:
                continue
            for call in self._replaying(ref):
                for state in states:
                    if self._leads_out(state, call):
                        yield self._end(state, ref, call)

    def _replaying(self, ref: FunctionRef) -> list[Call]:
        """The calls of a body by a replay's name."""
        if ref not in self._calls:
            module = self._facts.library.unit(ref.path)
            segment = module.module.segment(ref.line) if module is not None else b""
            wanted = any(b"." + name.encode() + b"(" in segment for name in self._methods)
            self._calls[ref] = [
                node
                for node in nodes(self._facts.library.body(ref))
                if type(node) is Call and type(node.func) is Attr and node.func.name in self._methods
            ] if wanted else []  # fmt: skip
        return self._calls[ref]

    def _leads_out(self, state: State, call: Call) -> bool:
        values = self._names.values(state.frame, call.func)
        if any(isinstance(value, FunctionValue) for value in values):
            return False
        named = [value.name for value in values if isinstance(value, External)]
        rules = [self._packs.match_call(name) for name in named]
        return not named or any(rule is not None and rule.kind == REPLAY for rule in rules)

    def _end(self, state: State, ref: FunctionRef, call: Call) -> Way:
        here = self._facts.brackets.get(ref, ())
        around = any(
            bracket.clock is Clock.DEVICE
            and contains(bracket, call.line, call.end_line, call.column)
            and not self._facts.scopes.is_cycle(state, bracket)
            for bracket in here
        )
        timed = around or state in self._device.inside
        return Way(state, ref, call.line, call.end_line, call.column, written(call.func), timed)


def _place(way: Way) -> str:
    return f"{way.ref.path}:{way.line}"
