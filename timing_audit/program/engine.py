"""The audited engine as the packs describe it: where paths start and end, what a stage is."""

from __future__ import annotations

from timing_audit.model.pack import (
    CallRule, EntryRule, FunctionRule, HintRule, Packs, PhaseFunctionRule, PhaseRule, StageRule, matches_qualname,
)  # fmt: skip
from timing_audit.model.program import Frame, FunctionRef

DECODE, PREFILL = "decode", "prefill"
PHASES = (DECODE, PREFILL)


class Engine:
    """Questions to the packs' engine rules; answers about one function are kept.

    `callbacks` are the frames behind the boundary that a method of this name may enter; they are
    found on the way.
    """

    def __init__(self, packs: Packs) -> None:
        self.entries = packs.select(EntryRule)
        self.stages = packs.select(StageRule, "stage")
        self.substages = packs.select(StageRule, "substage")
        self._labels = packs.select(StageRule, "stage-label")
        self.hints = packs.select(HintRule)
        modes = packs.select(PhaseRule)
        self.modes = modes[0] if modes else None
        self.leaves = tuple(path for rule in packs.select(FunctionRule, "leaf") for path in rule.paths)
        self.calls = tuple(call for rule in packs.select(CallRule) for call in rule.calls)
        self.target_calls = tuple(rule.target_call for rule in self.entries if rule.target_call)
        self.callbacks: dict[str, list[Frame]] = {}
        self._cold = packs.select(FunctionRule, "cold")
        self._capture = packs.select(FunctionRule, "capture")
        self._phases = packs.select(PhaseFunctionRule)
        self._answers: dict[tuple[str, FunctionRef], str] = {}
        self._named: dict[tuple[int, FunctionRef | str], bool] = {}
        self._entered: dict[tuple[int, FunctionRef, str, str, tuple[str, ...]], str] = {}

    def mark(self, ref: FunctionRef) -> str:
        """`capture`, `cold` or empty: why a call of this function leaves the hot path."""
        key = ("mark", ref)
        if key not in self._answers:
            self._answers[key] = self._mark(ref)
        return self._answers[key]

    def only_phase(self, ref: FunctionRef) -> str:
        """The one phase that the function serves, empty where the packs do not say."""
        key = ("phase", ref)
        if key not in self._answers:
            found = [rule.phase for rule in self._phases if rule.matches(ref.path, ref.qualname)]
            self._answers[key] = found[0] if found else ""
        return self._answers[key]

    def label(self, ref: FunctionRef) -> str:
        """The stage that the function serves, whoever calls it; empty where the packs do not say."""
        found = [rule.stage for rule in self._labels if rule.matches(ref.path, ref.qualname)]
        return found[0] if found else ""

    def is_target_call(self, ref: FunctionRef) -> bool:
        """Whether this is the scheduler's function that calls the worker."""
        return matches_qualname(self.target_calls, ref.qualname) if self.target_calls else False

    def enters(
        self, rules: tuple[StageRule, ...], ref: FunctionRef, callee: str, phase: str, around: tuple[str, ...]
    ) -> str:
        """The stage that a call enters; `callee` is how it is written, `around` the stages around it."""
        key = (id(rules), ref, callee, phase, around)
        found = self._entered.get(key)
        if found is None:
            found = self._entered[key] = self._enters(rules, ref, callee, phase, around)
        return found

    def _enters(
        self, rules: tuple[StageRule, ...], ref: FunctionRef, callee: str, phase: str, around: tuple[str, ...]
    ) -> str:
        for rule in rules:
            if rule.phases and phase not in rule.phases:
                continue
            if not set(around).isdisjoint(rule.outside):
                continue
            if self._names(rule, ref) or (callee and self._is_written(rule, callee)):
                return rule.stage
        return ""

    def _names(self, rule: StageRule, ref: FunctionRef) -> bool:
        key = (id(rule), ref)
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = rule.matches(ref.path, ref.qualname)
        return found

    def _is_written(self, rule: StageRule, callee: str) -> bool:
        key = (id(rule), callee)
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = rule.matches_call(callee)
        return found

    def _mark(self, ref: FunctionRef) -> str:
        if any(rule.matches(ref.path, ref.qualname) for rule in self._capture):
            return "capture"
        return "cold" if any(rule.matches(ref.path, ref.qualname) for rule in self._cold) else ""
