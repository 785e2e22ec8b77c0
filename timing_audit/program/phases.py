"""Which branches a phase takes: conditions on the engine's mode, told by reading the mode enum itself.

Expressions come as `object` where they are only told apart: narrowing the recursive union of their
types step by step takes a type checker minutes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from timing_audit.model.program import ClassRef, Frame, FunctionRef, Instance
from timing_audit.model.syntax import (
    Attr, Call, Compare, Conditional, Const, Display, Expr, Function, Logical, Name, Return, Unary,
)  # fmt: skip
from timing_audit.program.engine import DECODE, PREFILL, Engine
from timing_audit.program.evaluate import Evaluator


class Phase(NamedTuple):
    """A phase and the modes that the batch may have in it at this point."""

    name: str
    modes: frozenset[str]


class Phases:
    """Answers conditions. Three-valued: None is "may be either"."""

    def __init__(self, evaluator: Evaluator, engine: Engine) -> None:
        self._evaluator = evaluator
        rule = engine.modes
        self._mode_enum = rule.enum if rule else ""
        self._attribute = rule.attribute if rule else ""
        self._start = {DECODE: frozenset(rule.decode if rule else ()), PREFILL: frozenset(rule.prefill if rule else ())}
        self._all = {
            DECODE: self._start[DECODE] | frozenset(rule.reaches if rule else ()),
            PREFILL: self._start[PREFILL],
        }
        self._found: ClassRef | None = None
        self._needles: re.Pattern[bytes] | None = None
        self._flags = {
            name: frozenset(flag for flag, phase in (rule.flags if rule else ()) if phase != name)
            for name in (DECODE, PREFILL)
        }
        self._answers: dict[tuple[FunctionRef, str, tuple[tuple[str, bool | None], ...]], bool | None] = {}

    def start(self, name: str) -> Phase:
        """The phase with the modes that it starts in, of those that this release has."""
        return Phase(name, self._start[name] & self._members())

    def _members(self) -> frozenset[str]:
        """The modes that this release has; the packs name those of every release."""
        enum = self._enum()
        unit = None if enum is None else self._evaluator.library.unit(enum.path)
        if unit is None:
            return frozenset().union(*self._all.values())
        return frozenset(unit.class_scope(unit.classes[self._mode_enum]).names)

    def widened(self, phase: Phase, modes: frozenset[str]) -> Phase:
        """The phase behind a place that sets the batch to one of these modes.

        Once the mode has changed, it may be any that the phase reaches: what a release restores, and
        where, is not followed.
        """
        reached = self._all.get(phase.name, frozenset()) & self._members()
        return phase._replace(modes=reached) if modes & reached - phase.modes else phase

    def excludes(self, phase: Phase, modes: frozenset[str]) -> bool:
        """Whether code that always sets one of these modes cannot run in the phase."""
        return phase.name in self._all and bool(modes) and not modes & self._all[phase.name]

    def speaks_of_phase(self, ref: FunctionRef) -> bool:
        """Whether anything in the body can tell the phases apart: a predicate, a mode or a flag by name."""
        unit = self._evaluator.library.unit(ref.path)
        if unit is None:
            return False
        if self._needles is None:
            enum = self._enum()
            methods = [] if enum is None else self._evaluator.classes.methods(enum)
            words = {*methods, self._mode_enum, *(flag for flags in self._flags.values() for flag in flags)}
            self._needles = re.compile("|".join(sorted(map(re.escape, words))).encode())
        return self._needles.search(unit.module.segment(ref.line)) is not None

    def test(self, frame: Frame, expr: object, phase: Phase, line: int, depth: int = 0) -> bool | None:
        """Whether the condition, which stands on `line`, holds in the phase."""
        if isinstance(expr, Logical):
            left = self.test(frame, expr.left, phase, line, depth)
            right = self.test(frame, expr.right, phase, line, depth)
            return both(left, right) if expr.op == "and" else either(left, right)
        if isinstance(expr, Unary) and expr.op == "not":
            return negated(self.test(frame, expr.value, phase, line, depth))
        if isinstance(expr, Const):
            return bool(expr.value)
        if isinstance(expr, Call):
            return self._call(frame, expr, phase, line, depth)
        if isinstance(expr, Compare):
            return self._compare(frame, expr, phase)
        if isinstance(expr, Attr) and expr.name in self._flags.get(phase.name, ()):
            return False
        if isinstance(expr, Name) and depth < 3:
            return self._named(frame, expr, phase, line, depth)
        return None

    def mode_of(self, frame: Frame, expr: object) -> frozenset[str]:
        """The members of the mode enum that an expression names; empty if it is no mode."""
        if isinstance(expr, Conditional):
            return self.mode_of(frame, expr.body) | self.mode_of(frame, expr.orelse)
        if isinstance(expr, Attr) and isinstance(expr.value, (Name, Attr)):
            base = expr.value.id if isinstance(expr.value, Name) else expr.value.name
            return frozenset((expr.name,)) if base == self._mode_enum else frozenset()
        return frozenset()

    def _named(self, frame: Frame, expr: Name, phase: Phase, line: int, depth: int) -> bool | None:
        """A local flag: what the one assignment before the condition gave it."""
        value = self._assigned(frame, expr.id, line)
        return None if value is None or isinstance(value, Const) else self.test(frame, value, phase, line, depth + 1)

    def _assigned(self, frame: Frame, name: str, line: int) -> Expr | None:
        if frame.function is None:
            return None
        earlier = [d for d in self._evaluator.library.scope(frame.function).names.get(name, ()) if d.line <= line]
        return earlier[0].expr if len(earlier) == 1 and earlier[0].how == "value" and not earlier[0].place else None

    def _call(self, frame: Frame, expr: Call, phase: Phase, line: int, depth: int) -> bool | None:
        if isinstance(expr.func, Name):
            return self._by_name(frame, expr, expr.func, phase, line, depth)
        if not isinstance(expr.func, Attr):
            return None
        method = self._predicate(frame, expr.func)
        if method is None:
            return None
        passed = {keyword.name: keyword.value for keyword in expr.keywords}
        given = tuple(
            (name, value.value if isinstance(value, Const) and isinstance(value.value, bool) else None)
            for name, value in sorted(passed.items())
        )
        return agree([self._holds(method, mode, given) for mode in sorted(phase.modes)])

    def _by_name(self, frame: Frame, expr: Call, func: Name, phase: Phase, line: int, depth: int) -> bool | None:
        """`bool(condition)`, or a predicate that a local name holds (`check = mode.is_a if x else mode.is_b`)."""
        if func.id == "bool" and len(expr.args) == 1:
            return self.test(frame, expr.args[0], phase, line, depth)
        held = self._assigned(frame, func.id, line)
        choices: list[object] = [held.body, held.orelse] if isinstance(held, Conditional) else [held]
        calls = [expr._replace(func=choice) if isinstance(choice, Attr) else None for choice in choices]
        return agree([None if call is None else self._call(frame, call, phase, line, depth) for call in calls])

    def _predicate(self, frame: Frame, func: Attr) -> FunctionRef | None:
        """The mode enum's method that the call runs, if it is one."""
        if not func.name.startswith("is_"):
            return None
        receivers = [v for v in self._evaluator.evaluate(frame, func.value) if isinstance(v, Instance)]
        for value in receivers:
            if value.ref.qualname == self._mode_enum:
                return self._evaluator.classes.method(value.ref, func.name)
        if receivers:
            return None
        holder: object = func.value
        last = holder.name if isinstance(holder, Attr) else getattr(holder, "id", "")
        enum = self._enum()
        return self._evaluator.classes.method(enum, func.name) if enum is not None and last == self._attribute else None

    def _enum(self) -> ClassRef | None:
        """The mode enum, wherever a module that was read defines it."""
        if self._found is None:
            for unit in self._evaluator.library.units:
                if self._mode_enum in unit.classes:
                    self._found = ClassRef(unit.path, self._mode_enum)
        return self._found

    def _compare(self, frame: Frame, expr: Compare, phase: Phase) -> bool | None:
        """`batch.forward_mode == ForwardMode.DECODE`."""
        if len(expr.items) != 2 or expr.ops[0] not in ("==", "!=", "is", "is-not"):
            return None
        members = self.mode_of(frame, expr.items[1]) or self.mode_of(frame, expr.items[0])
        if not members:
            return None
        equal = agree([mode in members for mode in sorted(phase.modes)])
        return equal if expr.ops[0] in ("==", "is") else negated(equal)

    # The enum's own methods, read for one member.

    def _holds(self, method: FunctionRef, mode: str, given: tuple[tuple[str, bool | None], ...]) -> bool | None:
        key = (method, mode, given)
        if key not in self._answers:
            self._answers[key] = None
            self._answers[key] = self._run(method, mode, dict(given))
        return self._answers[key]

    def _run(self, method: FunctionRef, mode: str, given: dict[str, bool | None]) -> bool | None:
        function = self._evaluator.library.function(method)
        values = {p.name: p.default.value for p in function.params if isinstance(p.default, Const)}
        known: dict[str, bool | None] = {k: v if isinstance(v, bool) else None for k, v in values.items()}
        known.update(given)
        for statement in self._evaluator.library.body(method):
            if isinstance(statement, Return) and statement.value is not None:
                return self._member(statement.value, method, function, mode, known)
        return None

    def _member(
        self, expr: object, method: FunctionRef, function: Function, mode: str, known: dict[str, bool | None]
    ) -> bool | None:
        def again(inner: object) -> bool | None:
            return self._member(inner, method, function, mode, known)

        if isinstance(expr, Logical):
            return (both if expr.op == "and" else either)(again(expr.left), again(expr.right))
        if isinstance(expr, Unary) and expr.op == "not":
            return negated(again(expr.value))
        if isinstance(expr, Const):
            return bool(expr.value)
        if isinstance(expr, Name):
            return known.get(expr.id)
        if isinstance(expr, Conditional):
            test = again(expr.test)
            return None if test is None else again(expr.body if test else expr.orelse)
        if isinstance(expr, Compare) and len(expr.items) == 2:
            return self._is_member(expr, mode)
        return self._other(expr, method, mode, known)

    def _is_member(self, expr: Compare, mode: str) -> bool | None:
        right: object = expr.items[1]
        named: list[object] = list(right.items) if isinstance(right, Display) else [right]
        members = {item.name for item in named if isinstance(item, Attr)}
        if expr.ops[0] in ("==", "is", "in"):
            return mode in members
        return mode not in members if expr.ops[0] in ("!=", "is-not", "not-in") else None

    def _other(self, expr: object, method: FunctionRef, mode: str, known: dict[str, bool | None]) -> bool | None:
        """`self.is_extend(flag=flag)` inside another predicate."""
        if not (isinstance(expr, Call) and isinstance(expr.func, Attr) and expr.func.value == Name("self")):
            return None
        enum = ClassRef(method.path, method.qualname.rpartition(".")[0])
        other = self._evaluator.classes.method(enum, expr.func.name)
        given = [
            (k.name, known.get(k.value.id) if isinstance(k.value, Name) else _constant(k.value)) for k in expr.keywords
        ]
        return None if other is None else self._holds(other, mode, tuple(sorted(given, key=str)))


def _constant(expr: object) -> bool | None:
    return expr.value if isinstance(expr, Const) and isinstance(expr.value, bool) else None


def both(left: bool | None, right: bool | None) -> bool | None:
    """Three-valued `and`."""
    if left is False or right is False:
        return False
    return True if left and right else None


def either(left: bool | None, right: bool | None) -> bool | None:
    """Three-valued `or`."""
    if left or right:
        return True
    return False if left is False and right is False else None


def negated(value: bool | None) -> bool | None:
    """Three-valued `not`."""
    return None if value is None else not value


def agree(answers: list[bool | None]) -> bool | None:
    """The answer that holds for every mode; None if they differ."""
    return answers[0] if answers and all(answer is answers[0] for answer in answers) else None
