"""Timers in code that a recording or a compiler takes over: they do not speak when it counts."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import Silent
from timing_audit.model.pack import CallRule, Packs
from timing_audit.model.program import External, Frame, FunctionRef, FunctionValue
from timing_audit.model.syntax import Block, Call, If, Return, With
from timing_audit.model.timing import Bracket
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.hotpath import State
from timing_audit.program.scopes import nodes
from timing_audit.timing.cycle import Transition
from timing_audit.timing.describe import Facts
from timing_audit.timing.lines import Lines, blocks

JIT = ("kernel", "compiled")
RECORDING = "graph-capture"


class Capture:
    """Finds the silent timers of one run; `replaying` are the states whose bodies replay a graph."""

    def __init__(self, facts: Facts, names: Evaluator, packs: Packs, spots: Spots, replaying: set[State]) -> None:
        self._facts = facts
        self._names = names
        self._packs = packs
        self._spots = spots
        rules = [rule for rule in packs.select(CallRule) if rule.kind == RECORDING]
        self._recorders = frozenset(name.rpartition(".")[2].encode() for rule in rules for name in rule.calls)
        self._leading = self._leading_to(replaying)
        self._sides: dict[FunctionRef, list[tuple[list[Lines], list[Lines]]]] = {}
        self._eager: dict[FunctionRef, bool] = {}

    def silent(self) -> Iterator[Silent]:
        """The silent timers."""
        for ref, body in self._facts.bodies.items():
            if not body.brackets or ref in self._facts.timers:
                continue
            why = self._why(ref)
            recorded = [] if why else self._recorded(ref)
            for bracket in body.brackets:
                found = why or self._between(bracket, recorded)
                if found and bracket.covers:
                    spot = self._spots.of(ref, bracket.file, bracket.start_line, bracket.end_line)
                    yield Silent(spot, bracket.clock.value, found)

    def _why(self, ref: FunctionRef) -> str:
        if self._facts.roles.role(ref) in JIT:
            return "compiled"
        return "captured" if self._facts.roles.is_captured(ref) and self._is_replaced(ref) else ""

    # Between the start and the end of a recording, in one body.

    def _recorded(self, ref: FunctionRef) -> list[Lines]:
        """The lines of a body that run while it records a graph."""
        unit = self._facts.library.unit(ref.path)
        segment = unit.module.segment(ref.line) if unit is not None else b""
        if not any(name in segment for name in self._recorders):
            return []
        return [
            Lines(node.body[0].line, node.end_line)
            for node in nodes(self._facts.library.body(ref))
            if isinstance(node, With) and node.body and any(self._records(ref, item.context) for item in node.items)
        ]

    def _records(self, ref: FunctionRef, context: object) -> bool:
        if not isinstance(context, Call):
            return False
        frame = self._frame(ref)
        named = [value.name for value in self._names.values(frame, context.func) if isinstance(value, External)]
        return any(rule is not None and rule.kind == RECORDING for rule in map(self._packs.match_call, named))

    def _frame(self, ref: FunctionRef) -> Frame:
        states = self._facts.cycle.states.get(ref)
        return states[0].frame if states else self._names.frame_of(FunctionValue(ref, None, None))

    def _between(self, bracket: Bracket, recorded: list[Lines]) -> str:
        inside = any(span.start <= bracket.start_line and bracket.end_line <= span.end for span in recorded)
        return "recorded" if inside else ""

    # Captured code whose every call has a replay in its place.

    def _leading_to(self, replaying: set[State]) -> set[State]:
        """The states from which a replay is reached without entering captured code."""
        found, pending = set(replaying), list(replaying)
        while pending:
            for transition in self._facts.cycle.into[pending.pop()]:
                state, ref = transition.caller, transition.caller.frame.function
                if ref is not None and state not in found and not self._facts.roles.is_captured(ref):
                    found.add(state)
                    pending.append(state)
        return found

    def _is_replaced(self, ref: FunctionRef) -> bool:
        """Whether every hot way to the function passes a call that a replay stands in for."""
        if ref not in self._eager:
            self._eager[ref] = True
            calls = [t for state in self._facts.cycle.states[ref] for t in self._facts.cycle.into[state]]
            roots = {state.frame.function for state in self._facts.cycle.path.entries}
            self._eager[ref] = ref not in roots and bool(calls) and all(map(self._replaced_call, calls))
        return self._eager[ref]

    def _replaced_call(self, transition: Transition) -> bool:
        caller, line = transition.caller.frame.function, transition.edge.line
        if caller is None:
            return False
        if any(_holds(eager, line) for _, eager in self._alternatives(caller)):
            return True
        return self._facts.roles.is_captured(caller) and self._is_replaced(caller)

    def _alternatives(self, ref: FunctionRef) -> list[tuple[list[Lines], list[Lines]]]:
        """Pairs of branches of a body, of which the first replays a graph and the second does not."""
        if ref not in self._sides:
            lines = {
                t.edge.line
                for state in self._facts.cycle.states.get(ref, ())
                for t in self._facts.cycle.out[state]
                if t.target in self._leading
            }
            pairs = _branches(self._facts.library.body(ref)) if lines else []
            found = [(one, other) for one, other in pairs if _any(one, lines) and not _any(other, lines)]
            found += [(other, one) for one, other in pairs if _any(other, lines) and not _any(one, lines)]
            self._sides[ref] = found
        return self._sides[ref]


def _branches(block: Block) -> list[tuple[list[Lines], list[Lines]]]:
    """Lines that exclude each other: the two branches of an `if`, or one that returns and what follows it."""
    found = []
    for place, stmt in enumerate(block):
        node: object = stmt
        if isinstance(node, If):
            other = node.orelse or (block[place + 1 :] if _leaves(node.body) else ())
            found.append((_lines(node.body), _lines(other)))
        for inner in blocks(stmt):
            found += _branches(inner)
    return found


def _leaves(block: Block) -> bool:
    last: object = block[-1] if block else None
    return isinstance(last, Return)


def _lines(block: Block) -> list[Lines]:
    return [Lines(stmt.line, stmt.end_line) for stmt in block]


def _holds(lines: list[Lines], line: int) -> bool:
    return any(span.start <= line <= span.end for span in lines)


def _any(lines: list[Lines], wanted: set[int]) -> bool:
    return any(_holds(lines, line) for line in wanted)
