"""What the labels of timers say, and what they time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import Label, WrongLabel
from timing_audit.model.program import FunctionRef
from timing_audit.model.syntax import Attr, Call, Const
from timing_audit.model.timing import Bracket
from timing_audit.program.engine import PHASES
from timing_audit.program.scopes import nodes
from timing_audit.program.written import written
from timing_audit.timing.describe import Describer, Facts
from timing_audit.timing.regions import contains

WORDS = re.compile(r"[A-Z]?[a-z]+")
DRAFT, VERIFY, DRAFT_EXTEND = "draft", "verify", "draft_extend"
# What a callee's name may say beside its stage.
BESIDE = frozenset(("run", "do", "forward", "step", "batch", "model", "one", "all", "tokens", "tree"))
ENTERING = ("forward", "__call__", "run")


class Labels:
    """Reads the labels of the timers of one run."""

    def __init__(self, facts: Facts, describer: Describer, spots: Spots) -> None:
        self._facts = facts
        self._describer = describer
        self._spots = spots

    def spelled(self) -> Iterator[Label]:
        """Labels that the code spells out, of hot timers that serve one stage."""
        for ref, bracket in self._brackets():
            spot = self._spots.of(ref, bracket.file, bracket.start_line, bracket.end_line)
            stage = self._describer.bracket(bracket).stage or self._named(ref, bracket)
            if stage:
                yield Label(spot._replace(stage=stage), bracket.label, bracket.clock.value)

    def wrong(self) -> Iterator[WrongLabel]:
        """Labels that say one stage on timers of another."""
        for ref, bracket in self._brackets():
            says, known = stage_of(bracket.label), self._describer.bracket(bracket).stage
            times = known or self._named(ref, bracket)
            # A pass that extends the draft is a draft too.
            if says and times and says != times and not (says == DRAFT and times == DRAFT_EXTEND):
                spot = self._spots.of(ref, bracket.file, bracket.start_line, bracket.end_line)
                yield WrongLabel(spot, bracket.label, says, times, "", known is not None)

    def _brackets(self) -> Iterator[tuple[FunctionRef, Bracket]]:
        """The brackets of hot code with a label that is spelled out."""
        for ref, body in self._facts.bodies.items():
            labelled = [bracket for bracket in body.brackets if bracket.label and bracket.covers]
            if not labelled or ref in self._facts.timers or self._facts.survey.is_timer(ref):
                continue
            for bracket in labelled:
                if self._is_hot(ref, bracket) and self._is_spelled(ref, bracket):
                    yield ref, bracket

    def _is_hot(self, ref: FunctionRef, bracket: Bracket) -> bool:
        return self._spots.phase(ref, bracket.covers[0][0], bracket.covers[0][1]) in PHASES

    def _is_spelled(self, ref: FunctionRef, bracket: Bracket) -> bool:
        """Whether a string at the opening call is the label; a decorator's is taken for one."""
        if bracket.how == "decorator":
            return True
        wanted = Const(bracket.label)
        return any(
            type(node) is Call and node.line <= bracket.start_line <= node.end_line and wanted in nodes(node)
            for node in nodes(self._facts.library.body(ref))
        )

    def _named(self, ref: FunctionRef, bracket: Bracket) -> str:
        """The one stage that the callees inside are named for."""
        found = {
            _callee_stage(node)
            for node in nodes(self._facts.library.body(ref))
            if type(node) is Call and contains(bracket, node.line, node.end_line, node.column)
        } - {""}
        return found.pop() if len(found) == 1 else ""


def stage_of(label: str) -> str:
    """The stage that a label names; nothing where it names more than one."""
    words = {word.lower() for word in WORDS.findall(label)}
    if VERIFY in words:
        return "" if DRAFT in words else VERIFY
    if DRAFT not in words:
        return ""
    return DRAFT_EXTEND if "extend" in words else DRAFT


def _callee_stage(call: Call) -> str:
    names = written(call.func).split(".")
    name = names[-2] if len(names) > 1 and names[-1] in ENTERING and type(call.func) is Attr else names[-1]
    words = {word.lower() for word in WORDS.findall(name)}
    return stage_of(name) if words - BESIDE <= {DRAFT, VERIFY, "extend"} else ""
