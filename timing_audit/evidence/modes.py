"""Timers that are labelled with the mode of a batch, where a batch is built with another stage's mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import WrongLabel
from timing_audit.model.pack import ModeLabelRule, Packs, matches_qualname
from timing_audit.model.program import FunctionRef
from timing_audit.model.syntax import Assign, Attr, Call, Name, Return
from timing_audit.program.engine import DECODE
from timing_audit.program.scopes import nodes
from timing_audit.timing.describe import Facts
from timing_audit.timing.walk import terminal


class _Batch(NamedTuple):
    """A batch of a known mode, by the name under which a body holds it."""

    ref: FunctionRef
    name: str
    mode: str
    line: int


class Modes:
    """Follows batches from where they are built to the stage that runs them."""

    def __init__(self, facts: Facts, packs: Packs, spots: Spots) -> None:
        self._facts = facts
        self._spots = spots
        self._rules = packs.select(ModeLabelRule)

    def wrong(self) -> Iterator[WrongLabel]:
        """Batches whose mode books a stage's time under another."""
        for rule in self._rules:
            timers = self._timers(rule)
            for ref in self._facts.statements if timers else ():
                yield from self._built(rule, ref, timers)

    def _timers(self, rule: ModeLabelRule) -> str:
        """Where the timers that follow the mode stand."""
        found = [
            f"{bracket.file}:{bracket.start_line}"
            for ref, brackets in self._facts.brackets.items()
            for bracket in brackets
            if any(matches_qualname(rule.functions, hop.partition(" ")[2]) for hop in bracket.hops)
            and self._follows(rule, ref)
        ]  # fmt: skip
        return ", ".join(sorted(set(found))[:2])

    def _follows(self, rule: ModeLabelRule, ref: FunctionRef) -> bool:
        """Whether the body that opens a timer reads the mode."""
        return any(type(node) is Attr and node.name == rule.attribute for node in nodes(self._facts.library.body(ref)))

    def _built(self, rule: ModeLabelRule, ref: FunctionRef, timers: str) -> Iterator[WrongLabel]:
        unit = self._facts.library.unit(ref.path)
        segment = unit.module.segment(ref.line) if unit is not None else b""
        if not any(mode.encode() in segment for mode, _ in rule.stages):
            return
        for batch, call in self._assigned(ref):
            for mode in _modes(rule, call):
                yield from self._run(rule, _Batch(ref, batch, mode, call.line), timers)
                if Name(batch) in [node.value for node in nodes(self._facts.library.body(ref)) if type(node) is Return]:
                    for made in self._made_by(ref, mode):
                        yield from self._run(rule, made, timers)

    def _assigned(self, ref: FunctionRef) -> Iterator[tuple[str, Call]]:
        """Names that a body binds to what a call gives."""
        for node in nodes(self._facts.library.body(ref)):
            if type(node) is Assign and type(node.value) is Call and type(node.targets[0]) is Name:
                yield node.targets[0].id, node.value

    def _made_by(self, maker: FunctionRef, mode: str) -> Iterator[_Batch]:
        """The batches that callers get from a function that builds them."""
        calls = {
            (transition.caller.frame.function, transition.edge.line, transition.edge.column)
            for state in self._facts.cycle.states[maker]
            for transition in self._facts.cycle.into[state]
        }
        for ref in sorted({ref for ref, _, _ in calls if ref is not None}):
            for batch, call in self._assigned(ref):
                if (ref, call.line, call.column) in calls:
                    yield _Batch(ref, batch, mode, call.line)

    def _run(self, rule: ModeLabelRule, batch: _Batch, timers: str) -> Iterator[WrongLabel]:
        """The stage that a batch is handed to, where it is another than its mode says."""
        says = dict(rule.stages)[batch.mode]
        handed = {
            (node.line, node.column)
            for node in nodes(self._facts.library.body(batch.ref))
            if type(node) is Call and node.line > batch.line and Name(batch.name) in _given(node)
        }
        entered = {
            transition.target.stage
            for state in self._facts.cycle.states[batch.ref]
            for transition in self._facts.cycle.out[state]
            if state.phase.name == DECODE and (transition.edge.line, transition.edge.column) in handed
        } - {""}
        if len(entered) == 1 and says not in entered:
            spot = self._spots.of(batch.ref, batch.ref.path, batch.line)
            yield WrongLabel(spot, batch.mode, says, entered.pop(), timers, True)


def _given(call: Call) -> list[object]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _modes(rule: ModeLabelRule, call: Call) -> Iterator[str]:
    """The modes that a call hands to what it makes."""
    known = dict(rule.stages)
    for keyword in call.keywords:
        if keyword.name == rule.attribute and terminal(keyword.value) in known:
            yield terminal(keyword.value)
