"""Packs: the vocabulary of the audit as data.

A rule that names calls is a `CallRule`; the facts about the audited engine have a class each, because
each is asked other questions. Names of calls are canonical (`timing_audit.model.program.External`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import NamedTuple, TypeVar

from timing_audit.model.timing import Clock


class Example(NamedTuple):
    """Code that shows a rule; `expected` and `gaps` are (line of `code`, rule id)."""

    name: str
    code: str
    expected: tuple[tuple[int, str], ...]
    gaps: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Rule:
    """What every rule says; `file` and `line` are where its `id` stands."""

    id: str
    kind: str
    summary: str
    rationale: str
    examples: tuple[Example, ...]
    pack: str
    file: str
    line: int


@dataclass(frozen=True)
class CallRule(Rule):
    """Calls outside the target, by canonical name.

    `site` is the site kind of DESIGN, empty where the call is no site. `family` tells clocks that
    cannot be subtracted from each other and `steps` one that can jump. `pair` joins the `open` and
    `close` rules of one bracket, matched as `pairing` says: `stack`, `handle` or `object`.
    A timing event is one whose `timing_keyword` or argument at `timing_position` is true; where
    `event_position` is not None, the event is that argument and not the receiver.
    """

    calls: tuple[str, ...] = ()
    clock: Clock | None = None
    site: str = ""
    family: str = ""
    steps: bool = False
    pair: str = ""
    pairing: str = ""
    timing_keyword: str = ""
    timing_position: int | None = None
    event_position: int | None = None


@dataclass(frozen=True)
class FunctionRule(Rule):
    """Functions of the target by qualname glob or file glob, less the `unless` ones."""

    functions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def matches(self, path: str, qualname: str) -> bool:
        """Whether the rule speaks of this function; `path` is from the import root."""
        named = bool(self.functions) and matches_qualname(self.functions, qualname)
        if not named and not any(fnmatchcase(path, glob) for glob in self.paths):
            return False
        return not (self.unless and matches_qualname(self.unless, qualname))


@dataclass(frozen=True)
class EntryRule(FunctionRule):
    """Functions where a hot path starts; `role` is `scheduler` or `worker`.

    `target_call` names the scheduler's function whose calls on the worker are entries too.
    """

    role: str = ""
    phases: tuple[str, ...] = ()
    target_call: str = ""


@dataclass(frozen=True)
class StageRule(FunctionRule):
    """What enters a stage or substage: a function, or a call whose written callee matches `calls`.

    Without `phases` it holds in both; it does not hold where the call chain is already in one of
    the `outside` stages.
    """

    stage: str = ""
    calls: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    def matches_call(self, callee: str) -> bool:
        """Whether a call written as `callee` (`self.target_worker.forward`) enters the stage."""
        return any(fnmatchcase(callee, glob) for glob in self.calls)


@dataclass(frozen=True)
class WrittenRule(Rule):
    """Calls by how their callee is written, for methods of objects whose type no code tells: `*.item`."""

    calls: tuple[str, ...] = ()

    def matches_call(self, callee: str) -> bool:
        """Whether a call written as `callee` is meant."""
        return any(fnmatchcase(callee, glob) for glob in self.calls)


@dataclass(frozen=True)
class ModeLabelRule(FunctionRule):
    """Timers whose label is the batch's mode where they are opened; `stages` tells which stage a mode names."""

    attribute: str = ""
    stages: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PhaseFunctionRule(FunctionRule):
    """Functions that serve one phase only, where no branch of the code says so."""

    phase: str = ""


@dataclass(frozen=True)
class PhaseRule(Rule):
    """The enum that tells the phase of a batch, and attributes that are true in one phase only.

    The hot path starts with the members of the phase; `reaches` are those that code assigns within
    the decode phase. `idle` members are no phase: a branch that only they take is cold. In `flags`
    an attribute stands for the phase in which alone it is true.
    """

    enum: str = ""
    attribute: str = ""
    decode: tuple[str, ...] = ()
    prefill: tuple[str, ...] = ()
    reaches: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    flags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class HintRule(Rule):
    """What an attribute or parameter holds where no assignment or annotation tells: these classes or subclasses."""

    name: str = ""
    classes: tuple[str, ...] = ()

    def matches_class(self, qualname: str) -> bool:
        """Whether a class of the target is among the hinted ones."""
        return matches_qualname(self.classes, qualname)


@dataclass(frozen=True)
class SetterRule(FunctionRule):
    """Functions of the target whose call stamps or hands on a time: a site of kind `site`.

    Where the method is named by a string, `name_position` is the argument that holds it. A called
    method that matches `start` opens a slice which the one matching `end` closes.
    """

    site: str = ""
    clock: Clock | None = None
    name_position: int | None = None
    start: str = ""
    end: str = ""


@dataclass(frozen=True)
class WorkerRule(Rule):
    """What one launches with (`EAGLE3`), and the worker classes that any release answers with.

    `flag` is the launch argument that carries the name; `when` one more argument that must be set.
    """

    flag: str = ""
    when: str = ""
    workers: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Pack:
    """The rules of one file, under the name of the pack."""

    name: str
    file: str
    rules: tuple[Rule, ...]


AnyRule = TypeVar("AnyRule", bound=Rule)


@dataclass(frozen=True)
class Packs:
    """All packs of a run, in the order of their files."""

    packs: tuple[Pack, ...]

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule of every pack."""
        return tuple(rule for pack in self.packs for rule in pack.rules)

    def rules_of(self, kind: str) -> tuple[Rule, ...]:
        """The rules of one kind, as the packs spell it (`stage`)."""
        return tuple(rule for rule in self.rules if rule.kind == kind)

    def select(self, cls: type[AnyRule], kind: str = "") -> tuple[AnyRule, ...]:
        """The rules of one class, and of one kind where the class serves several."""
        return tuple(rule for rule in self.rules if isinstance(rule, cls) and kind in ("", rule.kind))

    def find(self, rule_id: str) -> Rule | None:
        """The rule with this id."""
        return next((rule for rule in self.rules if rule.id == rule_id), None)

    def match_call(self, name: str) -> CallRule | None:
        """The rule that names this call; an exact name goes before a glob, the narrower glob before the wider."""
        rule = self._exact.get(name)
        if rule is not None:
            return rule
        segments = tuple(name.split("."))
        for pattern, candidate in self._globs.get((segments[-1], len(segments)), ()):
            if all(wanted in ("*", found) for wanted, found in zip(pattern, segments, strict=True)):
                return candidate
        return None

    @cached_property
    def _exact(self) -> dict[str, CallRule]:
        return {name: rule for rule in self.select(CallRule) for name in rule.calls if "*" not in name}

    @cached_property
    def _globs(self) -> dict[tuple[str, int], list[tuple[tuple[str, ...], CallRule]]]:
        found: dict[tuple[str, int], list[tuple[tuple[str, ...], CallRule]]] = {}
        for rule in self.select(CallRule):
            for name in rule.calls:
                if "*" in name:
                    segments = tuple(name.split("."))
                    found.setdefault((segments[-1], len(segments)), []).append((segments, rule))
        for candidates in found.values():
            candidates.sort(key=lambda candidate: candidate[0].count("*"))
        return found


def matches_qualname(globs: tuple[str, ...], qualname: str) -> bool:
    """Whether the last components of `qualname` match one of the globs; `*` stays within a component."""
    return _compile(globs).search(qualname) is not None


@cache
def _compile(globs: tuple[str, ...]) -> re.Pattern[str]:
    bodies = (re.escape(glob).replace(r"\*", "[^.]*") for glob in globs)
    return re.compile(rf"(?:^|\.)(?:{'|'.join(bodies)})$")
