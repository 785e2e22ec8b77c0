"""Replays of recorded graphs on the hot path, and which of them a device timer covers."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from timing_audit.timing.describe import Facts
from timing_audit.timing.regions import contains

REPLAY = "graph-replay"
MOST_SIBLINGS = 3
WORD = re.compile(r"[A-Z][a-z0-9]*")


class Way(NamedTuple):
    """A call that leads to a replay; `timed` tells that a device timer covers it, in some context at least."""

    ref: FunctionRef
    line: int
    end_line: int
    text: str
    timed: bool


class Replays:
    """Compares the replays, and where several callers share one, its callers."""

    def __init__(self, facts: Facts, names: Evaluator, packs: Packs, spots: Spots) -> None:
        self._facts = facts
        self._names = names
        self._packs = packs
        self._spots = spots
        self._device = facts.reaches[CLOCKS.index(Clock.DEVICE)]
        rules = [rule for rule in packs.select(CallRule) if rule.kind == REPLAY]
        self._methods = frozenset(name.rpartition(".")[2] for rule in rules for name in rule.calls)
        self._calls: dict[FunctionRef, list[Call]] = {}

    def found(self) -> Iterator[Replay]:
        """The replays without a device timer that have siblings with one."""
        told: dict[tuple[str, int], Replay] = {}
        for way, covered, shared in self._uncovered():
            spot = self._spots.of(way.ref, way.ref.path, way.line, way.end_line)
            places = tuple(dict.fromkeys(f"{other.ref.path}:{other.line}" for other in covered))
            told.setdefault((spot.file, spot.line), Replay(spot, way.text, places[:MOST_SIBLINGS], shared))
        yield from (told[place] for place in sorted(told))

    def ending(self) -> set[State]:
        """The states whose bodies replay a graph themselves."""
        return {state for ref, call in self._ends() for state in self._states(ref, call)}

    def _uncovered(self) -> Iterator[tuple[Way, list[Way], bool]]:
        """Calls by callers some of which have a timer, and replays in classes whose kin have one."""
        bare: list[Way] = []
        kin: dict[str, list[Way]] = {}
        for ref, call in self._ends():
            end = self._end(ref, call)
            ways = [end] if end.timed else self._callers(ref)
            covered = [way for way in ways if way.timed]
            if covered:
                kin.setdefault(_kind(ref), []).extend(covered)
                yield from ((way, covered, True) for way in ways if not way.timed)
            else:
                bare.append(end)
        for end in bare:
            if _kind(end.ref) in kin:
                yield end, kin[_kind(end.ref)], False

    def _callers(self, ref: FunctionRef) -> list[Way]:
        """The calls of a function, one entry a place."""
        found: dict[tuple[FunctionRef, int], Way] = {}
        for state in self._facts.cycle.states[ref]:
            for transition in self._facts.cycle.into[state]:
                caller, edge = transition.caller.frame.function, transition.edge
                if caller is not None:
                    known = found.get((caller, edge.line))
                    timed = self._device.is_timed(transition) or (known is not None and known.timed)
                    found[caller, edge.line] = Way(caller, edge.line, edge.end_line, edge.text, timed)
        return list(found.values())

    def _ends(self) -> Iterator[tuple[FunctionRef, Call]]:
        """The replays themselves: calls of `replay` that lead out of the tree."""
        for ref in self._facts.cycle.states:
            if self._facts.roles.role(ref) == "hot" and ref not in self._facts.timers:
                yield from ((ref, call) for call in self._replaying(ref) if self._states(ref, call))

    def _states(self, ref: FunctionRef, call: Call) -> list[State]:
        return [state for state in self._facts.cycle.states[ref] if self._leads_out(state, call)]

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
        # A name without letters stands for something that nothing tells of.
        named = [value.name for value in values if isinstance(value, External) and value.name.strip("().")]
        rules = [self._packs.match_call(name) for name in named]
        return not named or any(rule is not None and rule.kind == REPLAY for rule in rules)

    def _end(self, ref: FunctionRef, call: Call) -> Way:
        states = self._states(ref, call)
        around = any(
            bracket.clock is Clock.DEVICE
            and contains(bracket, call.line, call.end_line, call.column)
            and not any(self._facts.scopes.is_cycle(state, bracket) for state in states)
            for bracket in self._facts.brackets.get(ref, ())
        )
        timed = around or all(state in self._device.inside for state in states)
        return Way(ref, call.line, call.end_line, written(call.func), timed)


def _kind(ref: FunctionRef) -> str:
    """What kin are alike in: the last word of the class (`Runner`), or the function's name where there is none."""
    owner, _, name = ref.qualname.rpartition(".")
    words = WORD.findall(owner.rpartition(".")[2])
    return words[-1] if words else name
