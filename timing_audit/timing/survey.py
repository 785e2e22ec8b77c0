"""The timing of every body of the audited files: sites, brackets, wrappers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from timing_audit.model.pack import Packs
from timing_audit.model.program import ClassRef, ClassValue, Frame, FunctionRef, FunctionValue
from timing_audit.model.syntax import Class, Const, Evaluate, Function
from timing_audit.model.timing import BodyTiming, Bracket, ClassTiming, Site, Wrapper
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Library, Unit, ref_of
from timing_audit.timing.audit import Definition, Timing
from timing_audit.timing.classes import class_timing
from timing_audit.timing.names import Vocabulary
from timing_audit.timing.needles import Words


class Inferred(NamedTuple):
    """A wrapper of the target, one entry a clock, with the docstring that tells what it is for."""

    ref: FunctionRef | ClassRef
    measures: tuple[Wrapper, ...]
    docstring: str


CALLABLE = frozenset(("callable",))


class Survey:
    """Reads the timing of bodies; what the packs and the target's own wrappers name is learnt first."""

    def __init__(self, library: Library, names: Evaluator, packs: Packs) -> None:
        self._library = library
        self._names = names
        self._timing = Timing(names, Vocabulary(packs))
        self._segments: dict[str, list[bytes]] = {}
        units = library.units
        self._timing.learn([unit.module.source for unit in units], self._definitions(units))
        self._hops: set[str] = set()
        self._ends: dict[ClassRef, list[BodyTiming]] | None = None
        self._halves: dict[ClassRef, list[BodyTiming]] = {}
        self._wrappers: dict[FunctionRef, tuple[Wrapper, ...]] = {}

    def read(
        self, paths: Iterable[str], frames: Mapping[FunctionRef, Sequence[Frame]]
    ) -> dict[FunctionRef, BodyTiming]:
        """The timing of the functions of some files; what stands between wrappers and clocks is noted."""
        found: dict[FunctionRef, BodyTiming] = {}
        for path in paths:
            found.update(self._read(path, frames))
        for body in found.values():
            self._note_halves(body)
            self._hops.update(hop for bracket in body.brackets if bracket.covers for hop in bracket.hops)
        return found

    def _read(self, path: str, frames: Mapping[FunctionRef, Sequence[Frame]]) -> dict[FunctionRef, BodyTiming]:
        unit = self._library.unit(path)
        found: dict[FunctionRef, BodyTiming] = {}
        for function in unit.outline.functions if unit is not None else ():
            if unit is not None and self._timing.may_time(self._words(unit, function.first_line, function.end_line)):
                ref = ref_of(unit, function)
                known = frames.get(ref, ()) or (self._names.frame_of(self._value(ref, function)),)
                found[ref] = joined([self._timing.body(frame, outer=self._names.parent(frame)) for frame in known])
        return found

    def module(self, path: str) -> BodyTiming:
        """The timing of a module's own statements, those of its classes included."""
        unit = self._library.unit(path)
        blocks = (unit.outline.body, *(cls.body for cls in unit.outline.classes)) if unit is not None else ()
        bodies = [self._timing.body(Frame(path, None, None), block) for block in blocks if block]
        return joined(bodies) if bodies else BodyTiming(path, None)

    def across_methods(self, path: str) -> list[Bracket]:
        """The brackets whose ends lie in two methods of a class of this file, its bases included."""
        return list(
            dict.fromkeys(
                bracket
                for found in self.of_classes(path)
                for bracket in found.brackets
                if bracket.start_line != bracket.end_line
            )
        )

    def of_classes(self, path: str) -> Iterator[ClassTiming]:
        """What the methods of each class of a file, its bases' included, measure between them."""
        unit = self._library.unit(path)
        for cls in unit.outline.classes if unit is not None else ():
            order = self._names.classes.order(ClassRef(path, cls.qualname))
            methods = [body for base in order for body in self._halves.get(base, ())]
            if any(body.starts for body in methods):
                yield class_timing(methods)

    def _note_halves(self, body: BodyTiming) -> None:
        owner = self._owner(body.function) if body.function is not None else None
        own = _own_ends(body)
        if owner is not None and (own.starts or own.ends):
            self._halves.setdefault(owner, []).append(own)

    def _held(self, bodies: Mapping[FunctionRef, BodyTiming]) -> dict[ClassRef, list[BodyTiming]]:
        """By class, what its methods hold of brackets with one end only."""
        if self._ends is None:
            self._ends = {}
            for ref, body in bodies.items():
                owner, own = self._owner(ref), _own_ends(body)
                if owner is not None and (own.starts or own.ends):
                    self._ends.setdefault(owner, []).append(own)
        return self._ends

    def wrapper(self, ref: FunctionRef) -> tuple[Wrapper, ...]:
        """What the function times for its callers."""
        if ref not in self._wrappers:
            found = self._timing.wrapper_of(self._value(ref, self._library.function(ref)))
            self._wrappers[ref] = () if self._only_calls(ref, found) else found
        return self._wrappers[ref]

    def _only_calls(self, ref: FunctionRef, found: Sequence[Wrapper]) -> bool:
        """Whether a function calls and times what it is given, and nobody here gives it anything."""
        return bool(found) and found[0].forms == CALLABLE and f"{ref.path}:{ref.line} {ref.qualname}" not in self._hops

    def is_timer(self, ref: FunctionRef) -> bool:
        """Whether the function is a wrapper, a setter that stamps a time, or one of the hops of a wrapper."""
        value = self._value(ref, self._library.function(ref))
        if self.wrapper(ref) or self._timing.wrappers.calls.setter(value) is not None:
            return True
        return f"{ref.path}:{ref.line} {ref.qualname}" in self._hops

    def form(self, ref: FunctionRef) -> str:
        """How the function times for its callers: `context`, `decorator`, `start`, `setter`, ..., or not."""
        value = self._value(ref, self._library.function(ref))
        if self._timing.wrappers.calls.setter(value) is not None:
            return "setter"
        measures = self.wrapper(ref)
        if measures:
            return min(measures[0].forms)
        starts = self._timing.wrappers.starts
        return starts.form(value) or ("clock" if starts.clock(value) is not None else "")

    def keeps_time(self, ref: FunctionRef) -> bool:
        """Whether the function is one end of a measurement, reads a clock for others, or wraps."""
        return self._timing.wrappers.is_timer(self._value(ref, self._library.function(ref)))

    def inferred(self, path: str) -> list[Inferred]:
        """The wrappers that a file defines."""
        unit = self._library.unit(path)
        found: list[Inferred] = []
        for function in unit.outline.functions if unit is not None else ():
            if unit is not None and self._timing.may_time(self._words(unit, function.first_line, function.end_line)):
                ref = ref_of(unit, function)
                if self.wrapper(ref):
                    found.append(Inferred(ref, self.wrapper(ref), self._docstring(ref)))
        for cls in unit.outline.classes if unit is not None else ():
            measures = self._of_class(path, cls) if unit is not None else ()
            if measures:
                found.append(Inferred(ClassRef(path, cls.qualname), measures, ""))
        return found

    def _of_class(self, path: str, cls: Class) -> tuple[Wrapper, ...]:
        unit = self._library.unit(path)
        if unit is None or not self._timing.may_time(self._words(unit, cls.line, cls.end_line)):
            return ()
        return self._timing.wrapper_of(ClassValue(ClassRef(path, cls.qualname)))

    def _docstring(self, ref: FunctionRef) -> str:
        body = self._library.body(ref)
        first = body[0] if body else None
        if isinstance(first, Evaluate) and isinstance(first.value, Const) and isinstance(first.value.value, str):
            return first.value.value
        return ""

    def _owner(self, ref: FunctionRef) -> ClassRef | None:
        function = self._library.function(ref)
        return ClassRef(ref.path, function.owner) if function.in_class else None

    def _value(self, ref: FunctionRef, function: Function) -> FunctionValue:
        return FunctionValue(ref, ClassRef(ref.path, function.owner) if function.in_class else None, None)

    def _definitions(self, units: Iterable[Unit]) -> Iterator[Definition]:
        for unit in units:
            for function in unit.outline.functions:
                value = self._value(ref_of(unit, function), function)
                segment = self._segment(unit, function.first_line, function.end_line)
                yield Definition(value, function.name, segment)
            for cls in unit.outline.classes:
                ref = ClassRef(unit.path, cls.qualname)
                yield Definition(ClassValue(ref), cls.name, self._segment(unit, cls.line, cls.end_line))

    def _words(self, unit: Unit, start: int, end: int) -> Words:
        return self._timing.words(self._segment(unit, start, end))

    def _segment(self, unit: Unit, start: int, end: int) -> bytes:
        lines = self._segments.get(unit.path)
        if lines is None:
            lines = self._segments[unit.path] = unit.module.source.split(b"\n")
        return b"\n".join(lines[start - 1 : end])


def _own_ends(body: BodyTiming) -> BodyTiming:
    """Without the starts and ends that the body only passes through: they are those of what it calls."""
    return body._replace(
        starts=tuple(start for start in body.starts if not start.hops),
        ends=tuple(end for end in body.ends if not end.hops),
    )


def joined(bodies: Sequence[BodyTiming]) -> BodyTiming:
    """One body as its receivers see it: the union, in order of the source."""
    if len(bodies) == 1:
        return bodies[0]
    sites: dict[tuple[int, int, str], Site] = {}
    brackets: dict[tuple[int, int, str, str], Bracket] = {}
    for body in bodies:
        for site in body.sites:
            sites.setdefault((site.line, site.column, site.kind), site)
        for bracket in body.brackets:
            brackets.setdefault((bracket.start_line, bracket.end_line, bracket.clock.value, bracket.label), bracket)
    starts = tuple(dict.fromkeys(start for body in bodies for start in body.starts))
    ends = tuple(dict.fromkeys(end for body in bodies for end in body.ends))
    loads = frozenset[str]().union(*(body.loads for body in bodies))
    unpaired = tuple(dict.fromkeys(entry for body in bodies for entry in body.unpaired))
    mixed = tuple(dict.fromkeys(entry for body in bodies for entry in body.mixed))
    syncs = tuple(dict.fromkeys(entry for body in bodies for entry in body.syncs))
    return BodyTiming(
        bodies[0].file, bodies[0].function, tuple(value for _, value in sorted(sites.items())),
        tuple(value for _, value in sorted(brackets.items())), unpaired, mixed, syncs, starts, ends, loads,
        tuple(dict.fromkeys(entry for body in bodies for entry in body.elapsed)),
    )  # fmt: skip
