"""Timers that are labelled with the mode of a batch, where a batch is built with another stage's mode."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import WrongLabel
from timing_audit.model.pack import ModeLabelRule, Packs, matches_qualname
from timing_audit.model.program import FunctionRef
from timing_audit.model.syntax import Assign, Attr, Call, Name
from timing_audit.program.engine import DECODE
from timing_audit.program.scopes import nodes
from timing_audit.timing.describe import Facts
from timing_audit.timing.walk import terminal


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
            and self._follows(rule, ref, bracket.start_line)
        ]  # fmt: skip
        return ", ".join(sorted(set(found))[:2])

    def _follows(self, rule: ModeLabelRule, ref: FunctionRef, line: int) -> bool:
        """Whether the mode is read near the opening of a timer: in its arguments, or for a name that they use."""
        names = [node.name for node in nodes(self._facts.library.body(ref)) if type(node) is Attr]
        return rule.attribute in names

    def _built(self, rule: ModeLabelRule, ref: FunctionRef, timers: str) -> Iterator[WrongLabel]:
        unit = self._facts.library.unit(ref.path)
        segment = unit.module.segment(ref.line) if unit is not None else b""
        if not any(mode.encode() in segment for mode, _ in rule.stages):
            return
        for node in nodes(self._facts.library.body(ref)):
            if type(node) is Assign and type(node.value) is Call and type(node.targets[0]) is Name:
                for mode, line in _modes(rule, node.value):
                    yield from self._run(rule, ref, node.targets[0].id, mode, line, timers)

    def _run(
        self, rule: ModeLabelRule, ref: FunctionRef, batch: str, mode: str, line: int, timers: str
    ) -> Iterator[WrongLabel]:
        """The stages that a batch built here is handed to."""
        says = dict(rule.stages)[mode]
        handed = {
            (node.line, node.column)
            for node in nodes(self._facts.library.body(ref))
            if type(node) is Call and node.line > line and Name(batch) in node.args
        }
        entered = {
            transition.target.stage
            for state in self._facts.cycle.states[ref]
            for transition in self._facts.cycle.out[state]
            if state.phase.name == DECODE and (transition.edge.line, transition.edge.column) in handed
        } - {""}
        if len(entered) == 1 and says not in entered:
            spot = self._spots.of(ref, ref.path, line)
            yield WrongLabel(spot, mode, says, entered.pop(), timers, True)


def _modes(rule: ModeLabelRule, call: Call) -> Iterator[tuple[str, int]]:
    """The modes that a call hands to what it makes, and the line of the call."""
    known = dict(rule.stages)
    for keyword in call.keywords:
        if keyword.name == rule.attribute and terminal(keyword.value) in known:
            yield terminal(keyword.value), call.line
