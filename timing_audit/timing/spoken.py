"""Where in a target each rule of the packs speaks: what the examples of the rules are checked against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timing_audit.model.pack import (
    CallRule, FunctionRule, HintRule, Packs, PhaseRule, SetterRule, StageRule, WorkerRule, WrittenRule,
)  # fmt: skip
from timing_audit.model.program import ClassRef, External, Frame, FunctionValue, Instance
from timing_audit.model.report import SiteFact
from timing_audit.model.syntax import Attr, Call, Conditional, Expr, Function, If, Name, While
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Unit, ref_of
from timing_audit.program.scopes import nodes
from timing_audit.program.written import written


class Spoken(NamedTuple):
    """A rule speaks of a line."""

    file: str
    line: int
    rule: str


def spoken(units: Sequence[Unit], evaluator: Evaluator, packs: Packs, sites: Sequence[SiteFact]) -> set[Spoken]:
    """Every place at which a rule has something to say."""
    found = {Spoken(site.file, site.line, site.rule) for site in sites if site.rule}
    reader = _Reader(evaluator, packs)
    for unit in units:
        found.update(reader.definitions(unit))
        for function in unit.outline.functions:
            found.update(reader.body(unit, function))
    return found


class _Reader:
    def __init__(self, evaluator: Evaluator, packs: Packs) -> None:
        self._evaluator = evaluator
        self._packs = packs
        self._functions = [rule for rule in packs.select(FunctionRule) if not isinstance(rule, SetterRule)]
        stages = [rule for rule in packs.select(StageRule) if rule.calls]
        self._written: list[StageRule | WrittenRule] = [*stages, *packs.select(WrittenRule)]
        self._modes = packs.select(PhaseRule)
        self._hints = packs.select(HintRule)

    def definitions(self, unit: Unit) -> Iterator[Spoken]:
        """What rules say of the functions and classes of a file."""
        for function in unit.outline.functions:
            for rule in self._functions:
                if rule.matches(unit.path, function.qualname):
                    yield Spoken(unit.path, function.line, rule.id)
            for decorator in function.decorators:
                func = decorator.value.func if isinstance(decorator.value, Call) else decorator.value
                yield from self._named(Frame(unit.path, None, None), func, decorator.line)
        for cls in unit.outline.classes:
            for worker in self._packs.select(WorkerRule):
                if any(cls.name in classes for _, classes in worker.workers):
                    yield Spoken(unit.path, cls.line, worker.id)

    def body(self, unit: Unit, function: Function) -> Iterator[Spoken]:
        """What rules say of the calls, branches and attributes of a function."""
        ref = ref_of(unit, function)
        receiver = ClassRef(unit.path, function.owner) if function.in_class else None
        frame, line = self._evaluator.frame_of(FunctionValue(ref, receiver, None)), function.line
        for node in nodes(unit.module.body(function.line)):
            line = getattr(node, "line", line)
            if isinstance(node, Call):
                yield from self._call(frame, node)
            elif isinstance(node, (If, While, Conditional)):
                yield from self._test(unit.path, node.test, line)
            elif isinstance(node, (Attr, Name)):
                yield from self._hinted(frame, node, line)

    def _call(self, frame: Frame, call: Call) -> Iterator[Spoken]:
        yield from self._named(frame, call.func, call.line)
        for rule in self._written:
            if rule.matches_call(written(call.func)):
                yield Spoken(frame.path, call.line, rule.id)

    def _named(self, frame: Frame, func: Expr, line: int) -> Iterator[Spoken]:
        """Rules that name the call, whether or not it makes a site."""
        for value in self._evaluator.values(frame, func):
            rule: CallRule | None = self._packs.match_call(value.name) if isinstance(value, External) else None
            if rule is not None:
                yield Spoken(frame.path, line, rule.id)

    def _test(self, path: str, test: Expr, line: int) -> Iterator[Spoken]:
        for rule in self._modes:
            telling = {rule.attribute, *(name for name, _ in rule.flags)}
            if any(isinstance(node, Attr) and node.name in telling for node in nodes((test,))):
                yield Spoken(path, line, rule.id)

    def _hinted(self, frame: Frame, node: Attr | Name, line: int) -> Iterator[Spoken]:
        name = node.name if isinstance(node, Attr) else node.id
        for rule in self._hints:
            if rule.name == name:
                values = self._evaluator.values(frame, node)
                if any(isinstance(value, Instance) and self._is_meant(rule, value.ref) for value in values):
                    yield Spoken(frame.path, line, rule.id)

    def _is_meant(self, rule: HintRule, ref: ClassRef) -> bool:
        return any(rule.matches_class(base.qualname) for base in self._evaluator.classes.order(ref))
